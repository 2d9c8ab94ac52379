"""Kubernetes in a process. Knows nothing of Ray."""
