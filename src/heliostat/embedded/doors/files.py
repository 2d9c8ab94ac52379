"""Private files, and directories that have to go."""

from heliostat.embedded.access.private_files import UnsafeFileError, replace_private
from heliostat.embedded.node.storage.removal import remove_tree

__all__ = [
    "UnsafeFileError",
    "remove_tree",
    "replace_private",
]
