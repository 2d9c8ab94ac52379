"""Which cluster a command talks to, and how its end is told: one sentence when it cannot be reached or says no.

The order: ``--kubeconfig``; ``KUBECONFIG``; the local one that ``heliostat up`` started, while it is up; the cluster
that this runs in; ``~/.kube/config``.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from heliostat.cli.errors import CommandError, MissingObjectError, UnreachableError
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.nearest import nearest_name
from heliostat.kube.resource_types import ResourceType
from heliostat.local.disk import find_disk_problem
from heliostat.local.state import State, default_state
from heliostat.runtime.client import Client
from heliostat.runtime.connection import AccessError, Connection
from heliostat.runtime.errors import ApiError, NotFoundError, UnavailableError
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection

REQUEST_SECONDS = 30.0
INTERRUPTED = 130
_PAGE = 500
_START = "heliostat up starts a cluster on this machine"
_WHICH = (
    "which cluster: --kubeconfig, else KUBECONFIG, else the local one of heliostat up while it is up, else the cluster"
    " that this runs in, else ~/.kube/config; -v says which it was"
)


class Cluster:
    """An open connection; ``namespace`` is the one meant where none is named."""

    def __init__(
        self, connection: Connection, transport: HttpsTransport, namespace: str, local: State | None = None
    ) -> None:
        """``local`` is where it lives, if it is one of this machine."""
        self.connection = connection
        self.local = local
        self.transport = transport
        self.namespace = namespace or connection.namespace
        self.client = Client(transport, clock=time.monotonic, request_seconds=REQUEST_SECONDS)

    async def fetch_list(
        self,
        resource: ResourceType,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
    ) -> list[JsonObject]:
        """All of them; each says what it is, which items of a list do not."""
        found: list[JsonObject] = []
        token = ""
        while True:
            page = await self.client.list_page(
                resource,
                namespace=namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                metadata_only=metadata_only,
                limit=_PAGE,
                continue_token=token,
            )
            listed = msgspec.json.decode(page)
            own = {"apiVersion": resource.api_version, "kind": resource.kind}
            found += [{**item, **own} for item in listed.get("items") or ()]
            token = (listed.get("metadata") or {}).get("continue") or ""
            if not token:
                return found

    async def fetch_object(self, resource: ResourceType, name: str) -> JsonObject:
        """Raises a CommandError that names the object that was probably meant."""
        namespace = self.namespace if resource.is_namespaced else ""
        try:
            tree: JsonObject = msgspec.json.decode(await self.client.get(resource, namespace, name))
        except NotFoundError:
            raise MissingObjectError(await self._tell_missing(resource, namespace, name), 1) from None
        return tree

    async def _tell_missing(self, resource: ResourceType, namespace: str, name: str) -> str:
        where = f" in namespace {namespace}" if namespace else ""
        missing = f"there is no {resource.kind} {name!r}{where}"
        try:
            listed = await self.fetch_list(resource, namespace, metadata_only=True)
        except ApiError:
            return missing
        names = [str(each["metadata"]["name"]) for each in listed]
        meant = nearest_name(name, names)
        if meant:
            return f"{missing}; did you mean {meant}?"
        some = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        return f"{missing}; there are: {some}" if names else f"{missing}, nor any other; -n names another namespace"


def add_cluster_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--namespace", default="", help="the namespace (the one of the kubeconfig, or default)")
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="how to reach the cluster")
    parser.add_argument("--context", default="", help="the context of the kubeconfig (its current one)")
    parser.add_argument("-v", "--verbose", action="store_true", help="say which cluster it is, on standard error")
    parser.epilog = f"{parser.epilog}\n{_WHICH}" if parser.epilog else _WHICH


def run_on_cluster(options: argparse.Namespace, work: Callable[[Cluster], Awaitable[int]]) -> int:
    """The exit code of ``work``, or a CommandError in one sentence."""
    try:
        return asyncio.run(_run(options, work))
    except KeyboardInterrupt:
        return INTERRUPTED
    except AccessError as error:
        raise UnreachableError(f"no cluster to talk to: {error}; {_START}", 1) from None
    except UnavailableError as error:
        raise UnreachableError(
            f"the cluster cannot be reached: {tell_unreachable(error)}; {_advise(options)}", 1
        ) from None
    except ApiError as error:
        raise CommandError(str(error), 1) from None


async def _run(options: argparse.Namespace, work: Callable[[Cluster], Awaitable[int]]) -> int:
    path = find_kubeconfig(options.kubeconfig)
    connection = find_connection(os.environ, path, options.context)
    if options.verbose:
        print(f"cluster: {connection.server} ({_describe_source(options.kubeconfig, path)})", file=sys.stderr)
    transport = HttpsTransport(connection, "heliostat-cli")
    try:
        return await work(Cluster(connection, transport, options.namespace, _find_local_state(path)))
    finally:
        await transport.close()


def _advise(options: argparse.Namespace) -> str:
    local = _find_local_state(find_kubeconfig(options.kubeconfig))
    return (local is not None and find_disk_problem(local.path)) or _START


def find_kubeconfig(named: Path | None) -> Path | None:
    """None: where every client looks."""
    if named is not None or os.environ.get("KUBECONFIG"):
        return named
    return find_local_kubeconfig()


def find_local_kubeconfig() -> Path | None:
    """That of ``heliostat up``, while it is up."""
    state = State(default_state())
    return state.kubeconfig if state.is_locked() and state.kubeconfig.exists() else None


def _find_local_state(path: Path | None) -> State | None:
    """The state directory that the kubeconfig lies in, while a supervisor lives there."""
    kubeconfig = path or Path(os.environ.get("KUBECONFIG") or "nowhere")
    state = State(kubeconfig.absolute().parent)
    return state if kubeconfig.name == state.kubeconfig.name and state.is_locked() else None


def _describe_source(named: Path | None, path: Path | None) -> str:
    if named is not None:
        return f"--kubeconfig {named}"
    if path is not None:
        return f"the local one, {path}"
    return "KUBECONFIG" if os.environ.get("KUBECONFIG") else "the cluster that this runs in, or ~/.kube/config"


def tell_unreachable(error: ApiError) -> str:
    """The system's own words, without those of the HTTP library."""
    system = getattr(error.__cause__, "os_error", None)
    if isinstance(system, OSError) and (system.strerror or str(system)):
        host, port = getattr(error.__cause__, "host", ""), getattr(error.__cause__, "port", "")
        return f"{host}:{port}: {system.strerror or system}"
    return str(error)
