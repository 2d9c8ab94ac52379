"""Kubeconfig files: their shape, how they are read, and how several become one.

Rules, as kubectl has them: the first file that names a cluster, user, context or the current context decides about it
as a whole; a listed file that does not exist counts as empty. Unknown fields are passed over. Secrets become ``Hidden``
while decoding, and refusals name the place, never the value.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct, field

from heliostat.kube.document_error import DocumentError
from heliostat.kube.documents import read_documents
from heliostat.kube.hidden import Hidden
from heliostat.kube.jsontree import JsonObject, drop_nulls
from heliostat.runtime.connection import AccessError

T = TypeVar("T")


class Extension(Struct, frozen=True):
    name: str = ""
    extension: Any = None


class Cluster(Struct, frozen=True, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: Hidden | None = None  # may hold a password
    disable_compression: bool = False
    extensions: tuple[Extension, ...] = ()


class EnvVar(Struct, frozen=True):
    name: str
    value: Hidden = Hidden("")


class Exec(Struct, frozen=True, rename="camel"):
    command: str = ""
    api_version: str = ""
    args: tuple[Hidden, ...] = ()
    env: tuple[EnvVar, ...] = ()
    install_hint: str = ""
    interactive_mode: str = ""
    provide_cluster_info: bool = False


class AuthProvider(Struct, frozen=True):
    name: str = ""


class User(Struct, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: Hidden | None = None
    token: Hidden | None = None
    token_file: str = field(default="", name="tokenFile")
    username: str = ""
    password: Hidden | None = None
    as_: str = field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}
    auth_provider: AuthProvider | None = None
    exec: Exec | None = None


class Context(Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(Struct, frozen=True):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(Struct, frozen=True):
    name: str
    user: User = User()


class _NamedContext(Struct, frozen=True):
    name: str
    context: Context = Context()


class _File(Struct, frozen=True, rename="kebab"):
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()
    current_context: str = ""


class Entry(Struct, Generic[T], frozen=True):
    """A part of a configuration and the file it is from, whose folder relative paths begin in."""

    value: T
    file: Path


class Kubeconfig(Struct, frozen=True):
    clusters: dict[str, Entry[Cluster]]
    users: dict[str, Entry[User]]
    contexts: dict[str, Entry[Context]]
    current_context: str
    files: tuple[Path, ...]

    def __str__(self) -> str:
        return ":".join(str(file) for file in self.files)


def read_kubeconfig(paths: Sequence[Path]) -> Kubeconfig:
    """All files as one. Raises AccessError."""
    return merge([(path, file) for path in paths if (file := _read_file(path)) is not None], paths)


def merge(files: Sequence[tuple[Path, _File]], paths: Sequence[Path]) -> Kubeconfig:
    clusters: dict[str, Entry[Cluster]] = {}
    users: dict[str, Entry[User]] = {}
    contexts: dict[str, Entry[Context]] = {}
    current = ""
    for path, file in files:
        _add(clusters, "clusters", ((one.name, one.cluster) for one in file.clusters), path)
        _add(users, "users", ((one.name, one.user) for one in file.users), path)
        _add(contexts, "contexts", ((one.name, one.context) for one in file.contexts), path)
        current = current or file.current_context
    return Kubeconfig(clusters, users, contexts, current, tuple(paths))


def _add(known: dict[str, Entry[T]], what: str, named: Iterable[tuple[str, T]], path: Path) -> None:
    own: dict[str, Entry[T]] = {}
    for name, value in named:
        if name in own:
            raise AccessError(str(path), f"{what} has two entries named {name!r}", "remove or rename one of them")
        own[name] = Entry(value, path)
    known.update({name: entry for name, entry in own.items() if name not in known})


def _read_file(path: Path) -> _File | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        problem = f"the kubeconfig cannot be read: {error.strerror}"
        raise AccessError(str(path), problem, "make it readable or name another file") from None
    return decode_file(data, path)


def decode_file(data: bytes, path: Path) -> _File:
    try:
        documents = read_documents(data, str(path))
    except DocumentError as error:
        where = f"{error.source}:{error.line}:{error.column}"
        raise AccessError(where, error.problem, error.fix) from None
    if not documents:
        return _File()
    if len(documents) > 1:
        raise AccessError(
            str(path), f"holds {len(documents)} documents", "a kubeconfig is one document; split the file"
        )
    return _convert(documents[0].tree, path)


def _convert(tree: JsonObject, path: Path) -> _File:
    kind = tree.get("kind") or "Config"
    if kind != "Config":
        raise AccessError(str(path), f"holds a {kind}, not a kubeconfig", "name the file of `kind: Config`")
    try:
        return msgspec.convert(drop_nulls(tree), type=_File, dec_hook=_hide)
    except msgspec.ValidationError as error:
        problem, _at, place = str(error).partition(" - at ")
        where = place.strip("`").removeprefix("$.") or "the top"
        raise AccessError(str(path), f"{where}: {problem}", "correct the value; texts may need quotes") from None


def _hide(wanted: type, value: Any) -> Any:
    if wanted is Hidden and isinstance(value, str):
        return Hidden(value)
    raise TypeError(f"Expected `str`, got `{type(value).__name__}`")
