"""Volumes: claims and what satisfies them, local directories on demand, and no loss of what is in use."""
