"""PID 1 of a Pod: starts its containers and outlives the node. Standard library only."""
