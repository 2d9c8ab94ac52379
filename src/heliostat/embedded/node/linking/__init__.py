"""The connection from API server to node, for logs, exec, port-forward and proxied requests."""
