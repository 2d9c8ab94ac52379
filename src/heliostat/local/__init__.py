"""One machine as a cluster: state directory, supervisor and its children, ``run``, the live view."""
