"""What the controllers read of each kind: slim shapes, decoded straight from the bytes of the API."""
