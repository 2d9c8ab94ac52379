"""Reads: get, list with pages, and watch."""
