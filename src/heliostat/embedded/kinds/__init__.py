"""Kubernetes' own kinds beyond their schema: what the server fills in, refuses and writes by itself. Pure functions.

``registry`` has the rules of each kind; the server calls them and knows no kinds itself.
"""
