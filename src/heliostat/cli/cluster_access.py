"""A command's connection to the cluster that it means, and how its end is told: one sentence when it cannot be reached
or says no."""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from heliostat.cli.errors import INTERRUPTED, CommandError, MissingObjectError, UnreachableError
from heliostat.cli.which_cluster import find_kubeconfig, find_local_state
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.nearest import find_likely
from heliostat.kube.resource_types import ResourceType
from heliostat.local.disk import find_disk_problem
from heliostat.local.state import State
from heliostat.runtime.client import Client
from heliostat.runtime.connection import AccessError, Connection
from heliostat.runtime.errors import ApiError, NotFoundError, UnavailableError
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection

NAMESPACE = ResourceType("v1", "Namespace", "namespaces", False)
REQUEST_SECONDS = 30.0
_PAGE = 500
_START = "heliostat up starts a cluster on this machine"


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

    async def fetch_object(self, resource: ResourceType, name: str, namespace: str = "") -> JsonObject:
        """Raises a CommandError that names the object that was probably meant."""
        namespace = (namespace or self.namespace) if resource.is_namespaced else ""
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
        meant = find_likely(name, names)
        if meant:
            return f"{missing}; did you mean {meant}?"
        some = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        if names:
            return f"{missing}; there are: {some}"
        why = await self.tell_missing_namespace(namespace)
        return f"{missing}{why}" if why else f"{missing}, nor any other; -n names another namespace"

    async def tell_missing_namespace(self, namespace: str) -> str:
        """Why nothing is in it, if there is no such namespace; empty when there is, or when nobody may say."""
        try:
            listed = await self.fetch_list(NAMESPACE, metadata_only=True) if namespace else []
        except ApiError:
            return ""
        names = [str(each["metadata"]["name"]) for each in listed]
        if not names or namespace in names:
            return ""
        meant = find_likely(namespace, names)
        hint = f"did you mean {meant}?" if meant else f"there are: {', '.join(names)}"
        return f": there is no such namespace; {hint}"


def run_on_cluster(options: argparse.Namespace, work: Callable[[Cluster], Awaitable[int]]) -> int:
    """The exit code of ``work``, or a CommandError in one sentence."""
    try:
        return asyncio.run(_run(options, work))
    except KeyboardInterrupt:
        return INTERRUPTED
    except AccessError as error:
        raise UnreachableError(
            f"no cluster to talk to: {error}; {_START}", 1, is_configured=_names_cluster(options)
        ) from None
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
        return await work(Cluster(connection, transport, options.namespace, find_local_state(path)))
    finally:
        await transport.close()


def _advise(options: argparse.Namespace) -> str:
    local = find_local_state(options.kubeconfig)
    return (local is not None and find_disk_problem(local.path)) or _START


def _names_cluster(options: argparse.Namespace) -> bool:
    """Whether somebody said which one, so that a file which is not there is a mistake."""
    named = options.kubeconfig is not None or options.context or os.environ.get("KUBECONFIG")
    return bool(named) or Path(os.environ.get("HOME") or "/", ".kube", "config").exists()


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
