"""Writes: create, update, patch, apply, delete, and the subresources that write."""
