"""Services, endpoints, Ingresses and NetworkPolicies: defaults and validation."""
