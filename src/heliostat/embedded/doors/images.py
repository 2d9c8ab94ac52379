"""The table of images of the local node."""

from heliostat.embedded.node.imaging.images import Build, Image, ImageTableError, read_table
from heliostat.embedded.node.imaging.stand_ins import REDIS

__all__ = [
    "REDIS",
    "Build",
    "Image",
    "ImageTableError",
    "read_table",
]
