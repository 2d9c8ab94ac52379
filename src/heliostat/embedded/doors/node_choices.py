"""How Pods can be isolated here, and which ports lead out."""

from heliostat.embedded.node.isolating import isolation
from heliostat.embedded.node.isolating.choices import AUTO, DEFAULT_PORTS, NONE, WAYS

__all__ = [
    "AUTO",
    "DEFAULT_PORTS",
    "NONE",
    "WAYS",
    "isolation",
]
