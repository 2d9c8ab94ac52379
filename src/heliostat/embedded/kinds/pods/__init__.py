"""Pods and Pod templates: defaults and validation, part by part."""
