"""Recorded exchanges with kube-apiserver: what was asked, and the verdict that came back.

A step creates, gets, patches, or edits an object: reads it, puts values in and sends it back. ``NS`` stands for a
namespace of the exchange's own. The same steps are sent to any server that a ``Call`` reaches.
"""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from embedded.kinds.masking import verdict

FOLDER = Path(__file__).parent / "recorded"
Call: TypeAlias = Callable[[str, str, Any, str], Awaitable[tuple[int, Any]]]  # method, path, body, content type
JSON = "application/json"


class Step(Struct, omit_defaults=True):
    name: str
    method: str
    path: str
    body: Any = None
    content_type: str = JSON
    edits: list[tuple[list[str | int], Any]] = []  # where and what; the value ABSENT takes out
    recorded: Any = None


ABSENT = "(absent)"


def load(name: str) -> list[Step]:
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=list[Step])


def save(name: str, steps: list[Step]) -> None:
    lines = ",\n".join(json.dumps(msgspec.to_builtins(step), sort_keys=True) for step in steps)
    (FOLDER / f"{name}.json").write_text(f"[\n{lines}\n]\n")


async def prepare(call: Call, namespace: str) -> None:
    """A namespace with the account that Pods run under."""
    await call("POST", "/api/v1/namespaces", _object("Namespace", namespace), JSON)
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await call("POST", accounts, _object("ServiceAccount", "default"), JSON)


def _object(kind: str, name: str) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": "v1", "metadata": {"name": name}}


async def take(step: Step, call: Call, namespace: str) -> dict[str, Any]:
    """Send one step and give its verdict, in terms of ``NS`` again."""
    path = step.path.replace("NS", namespace)
    body = json.loads(json.dumps(step.body).replace('"NS"', f'"{namespace}"'))
    if step.edits:
        body = (await call("GET", path.partition("?")[0], None, JSON))[1]
        for where, value in step.edits:
            edit(body, where, value)
    status, answer = await call(step.method, path, body, step.content_type)
    told: dict[str, Any] = json.loads(json.dumps(verdict(status, answer)).replace(namespace, "NS"))
    return told


def edit(tree: Any, where: list[str | int], value: Any) -> None:
    for key in where[:-1]:
        tree = tree[key]
    last = where[-1]
    if value == ABSENT:
        del tree[last]
    elif isinstance(tree, list) and last == len(tree):
        tree.append(value)
    else:
        tree[last] = value
