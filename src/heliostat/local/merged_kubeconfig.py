"""The local cluster as a context of the user's own kubeconfig: put there on request, taken out by ``heliostat down``.

Which file: the first that KUBECONFIG lists, else ~/.kube/config. Everything else in it stays; the current context too,
unless there is none. An entry of our name that is not ours is never touched: what we have put where is written down in
the state directory. The file is changed under the same lock as kubectl's, and replaced whole.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.embedded.doors.files import UnsafeFileError, replace_private
from heliostat.kube.document_error import DocumentError
from heliostat.kube.documents import read_documents
from heliostat.kube.hidden import Hidden
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.yaml_text import encode_yaml
from heliostat.local.state import State, default_state

_PARTS = (("clusters", "cluster"), ("users", "user"), ("contexts", "context"))
_NOTE = "merged-kubeconfig.json"
_CURRENT = "current-context"


class MergeError(Exception):
    """The user's kubeconfig cannot be changed; the text says why and what to do."""


class Merged(Struct, frozen=True):
    """What was put where."""

    file: str
    name: str


def choose_file(environ: Mapping[str, str], state: State) -> Path:
    listed = [Path(part) for part in environ.get("KUBECONFIG", "").split(":") if part]
    others = [path for path in listed if path.absolute() != state.kubeconfig]
    return (others[0] if others else Path(environ.get("HOME") or "/", ".kube", "config")).absolute()


def choose_name(state: State) -> str:
    """Of cluster, user and context; that of another state directory tells which."""
    return "heliostat" if state.path == default_state().absolute() else f"heliostat-{state.path.name}"


def merge_kubeconfig(state: State, environ: Mapping[str, str]) -> Merged:
    """Raises MergeError."""
    merged = Merged(str(choose_file(environ, state)), choose_name(state))
    before = read_merged(state)
    if before not in (None, merged):
        remove_merged(state)
    own = _read(state.kubeconfig)
    with _changing(Path(merged.file)) as tree:
        if before != merged and any(_find(tree, part, merged.name) for part, _ in _PARTS):
            problem = f"{merged.file} has an entry {merged.name!r} already, and heliostat did not put it there"
            raise MergeError(f"{problem}; rename it (kubectl config rename-context), or delete it")
        _put(tree, own, merged.name)
        (state.path / _NOTE).write_bytes(msgspec.json.encode(merged))
    return merged


def read_merged(state: State) -> Merged | None:
    try:
        return msgspec.json.decode((state.path / _NOTE).read_bytes(), type=Merged)
    except (OSError, msgspec.MsgspecError):
        return None


def remove_merged(state: State) -> Merged | None:
    """What was taken out; None when there was nothing. Raises MergeError."""
    merged = read_merged(state)
    if merged is None:
        return None
    if Path(merged.file).exists():
        with _changing(Path(merged.file)) as tree:
            for part, _ in _PARTS:
                tree[part] = [entry for entry in tree.get(part) or () if _name_of(entry) != merged.name]
            if tree.get(_CURRENT) == merged.name:
                tree[_CURRENT] = ""
    (state.path / _NOTE).unlink(missing_ok=True)
    return merged


def _put(tree: JsonObject, own: JsonObject, name: str) -> None:
    for part, inner in _PARTS:
        content: Any = (own.get(part) or [{}])[0].get(inner) or {}
        if part == "contexts":
            content = {**content, "cluster": name, "user": name}
        others = [entry for entry in tree.get(part) or () if _name_of(entry) != name]
        tree[part] = [*others, {"name": name, inner: content}]
    tree[_CURRENT] = tree.get(_CURRENT) or name


def _find(tree: JsonObject, part: str, name: str) -> bool:
    return any(_name_of(entry) == name for entry in tree.get(part) or ())


def _name_of(entry: object) -> object:
    return entry.get("name") if isinstance(entry, dict) else None


@contextmanager
def _changing(path: Path) -> Iterator[JsonObject]:
    """What the block changes in the tree is in the file afterwards; nothing when it raises."""
    path = path.resolve()  # a link stays one
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(path):
            tree = _read(path) if path.exists() else {"apiVersion": "v1", "kind": "Config"}
            before = msgspec.json.encode(tree)
            yield tree
            if msgspec.json.encode(tree) != before:
                replace_private(path, Hidden(encode_yaml(tree)))
    except OSError as error:
        raise MergeError(f"{path} cannot be changed: {error.strerror or error}") from None
    except UnsafeFileError as error:
        raise MergeError(str(error)) from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """As kubectl does it."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise MergeError(f"another program is changing {path}; if none does, delete {lock}") from None
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _read(path: Path) -> JsonObject:
    try:
        documents = read_documents(path.read_bytes(), str(path))
    except (DocumentError, OSError) as error:
        raise MergeError(f"cannot read the kubeconfig: {error}") from None
    tree = documents[0].tree if documents else {"apiVersion": "v1", "kind": "Config"}
    wrong = [part for part, _ in _PARTS if not isinstance(tree.get(part) or [], list)]
    if len(documents) > 1 or wrong:
        raise MergeError(f"{path} is not a kubeconfig; move it away, or name another file with KUBECONFIG")
    return dict(tree)
