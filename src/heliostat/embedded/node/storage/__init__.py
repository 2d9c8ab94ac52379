"""Volumes on disk: what they are made from, how they are mounted, kept in step and removed."""
