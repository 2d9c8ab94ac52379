"""Pods that nobody else would ever clean up: their Node is gone, they never had one, or too many are over."""
