"""OpenAPI, version 2 and 3, built from the schemas that are served."""
