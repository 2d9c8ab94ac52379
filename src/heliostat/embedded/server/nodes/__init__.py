"""Services' addresses, and requests that end on a node: logs, exec, port-forward, proxies."""
