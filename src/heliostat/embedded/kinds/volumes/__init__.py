"""Volumes of Pods, claims and StorageClasses: defaults and validation."""
