"""Garbage collection: what goes when its owner goes, what stays, and what an owner waits for."""
