"""The ray.io API, pure: the four kinds as structs, their CRDs, defaults, validation, and the operator's settings."""
