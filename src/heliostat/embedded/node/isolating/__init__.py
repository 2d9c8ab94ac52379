"""The container runtime: namespaces, control groups, limits, and the node's side of the shim."""
