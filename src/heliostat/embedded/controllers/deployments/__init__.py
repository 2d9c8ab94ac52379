"""Deployments: one ReplicaSet for each template that was asked for, and the way from one to the next."""
