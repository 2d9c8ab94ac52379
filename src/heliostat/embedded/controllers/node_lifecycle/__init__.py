"""Nodes that fall silent: what is said of them, which taints they get, and which Pods must leave."""
