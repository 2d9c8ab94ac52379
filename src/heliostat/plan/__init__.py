"""What to do next, pure: writes, waits, effects and the status, with one folder per kind and the shared parts here."""
