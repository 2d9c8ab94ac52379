"""Upgraded connections, WebSocket and SPDY, for exec, attach and port-forward."""
