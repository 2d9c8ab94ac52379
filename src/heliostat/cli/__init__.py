"""Commands: arguments become one call, and its result is printed."""
