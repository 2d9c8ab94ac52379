"""PATH in a login shell: ``bash -lc`` reads the machine's profile, which may set PATH anew and lose what the image has.

Images that have a home of their own bring a ``.profile`` in it, which every shell reads last: PATH is then what the
container was started with.
"""

import shlex
from pathlib import Path


def write_profile(home: Path, path: str) -> None:
    """``path`` is the PATH of the container. What somebody has there already stays."""
    profile = home / ".profile"
    if not profile.exists():
        profile.write_text(f"PATH={shlex.quote(path)}\nexport PATH\n")
        profile.chmod(0o644)
