"""Which kinds a server serves."""

from heliostat.embedded.controllers.survey import discover

__all__ = [
    "discover",
]
