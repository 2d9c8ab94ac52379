"""Ray's own HTTP API: the dashboard's jobs, Serve and health, direct or through the API server's proxy."""
