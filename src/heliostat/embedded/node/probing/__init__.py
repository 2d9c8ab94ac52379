"""Probes and lifecycle hooks, and HTTP requests that are passed on to Pods."""
