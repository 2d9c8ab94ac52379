"""``${name}`` in requests: what it stands for, and what answers teach.

A variable that nothing has taught becomes the empty string; a field that is nothing but such a variable is left out, so
a shrunk sequence stays meaningful.
"""

import re
from typing import Any

from conformance.model import Json

_REFERENCE = re.compile(r"\$\{([^}]+)\}")


class Variables:
    def __init__(self, **values: str) -> None:
        self._values = dict(values)

    def learn(self, body: Json, save: dict[str, str]) -> None:
        """From an answer: what the step saves, and the identity of every object in it."""
        for name, path in save.items():
            value = _find(body, path)
            if value is not None:
                self._values[name] = str(value)
        for tree in (body, *_items(body)):
            self._learn_object(tree)

    def _learn_object(self, tree: Json) -> None:
        metadata = tree.get("metadata") if isinstance(tree, dict) else None
        if not isinstance(metadata, dict) or "uid" not in metadata:
            return
        name, version = metadata.get("name"), metadata.get("resourceVersion")
        self._values[f"{name}.uid"] = str(metadata["uid"])
        if version:
            self._values[f"{name}.rv"] = str(version)
            self._values.setdefault(f"{name}.rv.first", str(version))

    def fill_text(self, text: str) -> str:
        return _REFERENCE.sub(lambda match: self._values.get(match[1], ""), text)

    def fill(self, tree: Json) -> Json:
        if isinstance(tree, str):
            return self.fill_text(tree)
        if isinstance(tree, list):
            return [self.fill(value) for value in tree]
        if isinstance(tree, dict):
            return {self.fill_text(key): self.fill(value) for key, value in tree.items() if not self._is_unknown(value)}
        return tree

    def _is_unknown(self, value: Any) -> bool:
        whole = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
        return whole is not None and whole[1] not in self._values


def _items(body: Json) -> list[Json]:
    items = body.get("items") if isinstance(body, dict) else None
    return items if isinstance(items, list) else []


def _find(tree: Json, path: str) -> Any:
    for part in path.split("."):
        if isinstance(tree, list) and part.isdecimal() and int(part) < len(tree):
            tree = tree[int(part)]
        elif isinstance(tree, dict):
            tree = tree.get(part)
        else:
            return None
    return tree
