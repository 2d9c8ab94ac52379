"""Makes and removes the directories behind local volumes. It touches nothing outside its own root."""

import asyncio
import shutil
from pathlib import Path

from heliostat.embedded.controllers.volumes.directories import EFFECT
from heliostat.kube.plan import Effect


class OutsideRootError(Exception):
    """A path that is not directly below the root: never made, never removed."""


class LocalDirectories:
    effect = EFFECT

    def __init__(self, root: Path) -> None:
        self._root = root

    async def carry_out(self, effect: Effect) -> None:
        path = Path(effect.payload["path"])
        if path.parent != self._root or path.name in ("", ".", ".."):
            raise OutsideRootError(f"{path} is not a directory directly below {self._root}")
        await asyncio.to_thread(_make if effect.payload["operation"] == "create" else _remove, path)


def _make(path: Path) -> None:
    path.mkdir(mode=0o777, parents=True, exist_ok=True)
    path.chmod(0o777)  # whoever the Pod runs as; the root above is the node's alone


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
