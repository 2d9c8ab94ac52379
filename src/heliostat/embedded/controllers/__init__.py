"""Kubernetes' own controllers on the loop of ``heliostat.runtime``: pure decisions, each with its wiring."""
