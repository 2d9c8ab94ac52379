"""The operator: watched kinds, RBAC, flags, start-up, with one small folder of wiring per kind."""
