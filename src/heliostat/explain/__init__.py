"""Why something is not ready and what to do about it, pure: sentences, with one folder per kind."""
