"""What whoever starts a node may choose about its Pods: how they are kept apart, and where they get to."""

from typing import Final

ROOT: Final = "root"
USER: Final = "user"
NONE: Final = "none"
AUTO: Final = "auto"
WAYS: Final = (ROOT, USER, NONE)  # to keep Pods apart, the best first

DEFAULT_PORTS: Final = (22, 80, 443, 8080, 8443)  # of other machines
