"""Container logs: the files, the lines as clients want them, and what is kept of Pods that are gone."""
