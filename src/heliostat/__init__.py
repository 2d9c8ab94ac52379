"""Heliostat steers Rays: the ray.io operator, and a small Kubernetes of its own."""

__version__ = "0.1.0"
