"""Kubernetes' vocabulary, pure: quantities, selectors, conditions, owner references, YAML, schemas, plans, facts."""
