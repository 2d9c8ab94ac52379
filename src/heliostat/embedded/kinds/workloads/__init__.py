"""Kinds that make Pods, from Deployment to CronJob: defaults, validation, ``scale``."""
