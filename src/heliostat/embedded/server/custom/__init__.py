"""CustomResourceDefinitions: how they are judged, established and served, and their objects validated."""
