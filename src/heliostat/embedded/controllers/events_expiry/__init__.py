"""Events are kept for an hour."""
