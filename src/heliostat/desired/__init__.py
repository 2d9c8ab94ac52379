"""What should exist for a ray.io object, pure: builders, with one folder per kind and the shared parts here."""
