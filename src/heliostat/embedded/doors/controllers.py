"""Kubernetes' own controllers as one program."""

from heliostat.embedded.control_plane import ControlPlane, ControlPlaneOptions

__all__ = [
    "ControlPlane",
    "ControlPlaneOptions",
]
