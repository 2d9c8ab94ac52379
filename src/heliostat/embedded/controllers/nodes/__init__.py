"""Simulated nodes: Pods live and die by a table of stages, without a process."""
