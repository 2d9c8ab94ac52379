"""Names of new children: never used before, and the same whenever the same view is planned from again.

A suffix is five characters of a hash over the owner's UID and version and the newest version among its children, also
those that have left. So a repeated create collides harmlessly, and what takes the place of a child gets another name.
"""

from collections.abc import Iterable
from itertools import count
from typing import Any

from heliostat.kube.objects import Metadata, Object
from heliostat.kube.suffixes import derive_suffix
from heliostat.runtime.cache import Cache

_LONGEST_PREFIX = 63 - 5  # as kube-apiserver cuts a generateName


class ChildNames:
    """Hands out names for one plan: none twice, and none of those that are ``visible``."""

    def __init__(self, owner: Metadata, visible: Iterable[Object], departed: int = 0) -> None:
        visible = tuple(visible)
        newest = max((item.metadata.revision for item in visible if _is_child(owner, item)), default=0)
        self._facts = (owner.uid, owner.resource_version, str(max(newest, departed)))
        self._taken = {item.metadata.name for item in visible}
        self.prefix = f"{owner.name}-"
        self._kept = self.prefix[:_LONGEST_PREFIX]
        self._positions = count()

    def next(self) -> str:
        while True:
            name = self._kept + derive_suffix(*self._facts, str(next(self._positions)))
            if name not in self._taken:
                self._taken.add(name)
                return name


def _is_child(owner: Metadata, item: Object) -> bool:
    controller = item.metadata.controller
    return controller is not None and controller.uid == owner.uid


class Departures:
    """The newest version that children had when they left, by their controller's UID.

    Only this process knows it. A name that a restart makes possible again still needs a child that came and went
    without any trace in its owner or in another child.
    """

    def __init__(self, children: Cache[Any]) -> None:
        self._versions: dict[str, int] = {}
        children.subscribe(self._note)

    def of(self, owner_uid: str) -> int:
        return self._versions.get(owner_uid, 0)

    def forget(self, owner_uid: str) -> None:
        self._versions.pop(owner_uid, None)

    def _note(self, before: Object | None, after: Object | None) -> None:
        owner = before.metadata.controller if before is not None and after is None else None
        if before is not None and owner is not None:
            self._versions[owner.uid] = max(self.of(owner.uid), before.metadata.revision)
