"""One conversation with an API server: for commands that apply, look and wait."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from heliostat.embedded.doors.discovery import discover
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.client import Client
from heliostat.runtime.errors import AmbiguousError, ApiError, NotFoundError, ThrottledError, UnavailableError
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection
from heliostat.runtime.transport import Call, Transport

_APPLY = "application/apply-patch+yaml"
_FIELD_MANAGER = "heliostat"
_LONGEST_LIST = 5000
_AGAIN_SECONDS = 0.2

T = TypeVar("T")


class UnknownKindError(Exception):
    """The server does not serve this kind."""


class Session:
    """``patience`` is how many seconds a server that does not answer is asked again; every call can be repeated.

    An answer is final, whatever it says, unless it is "come back later".
    """

    def __init__(self, transport: Transport, client: Client, patience: float = 0.0) -> None:
        self.transport = transport
        self.client = client
        self._patience = patience
        self._types: dict[tuple[str, str], ResourceType] = {}

    async def apply(self, tree: JsonObject) -> JsonObject:
        """Server-side apply: what is there becomes what the document says. The object as it is then."""
        resource = await self.resource_of(tree)
        metadata = tree["metadata"]
        call = Call(
            method="PATCH",
            path=resource.path(metadata.get("namespace", ""), metadata["name"]),
            query=(("fieldManager", _FIELD_MANAGER), ("force", "true")),
            body=msgspec.json.encode(tree),
            content_type=_APPLY,
        )
        applied: JsonObject = msgspec.json.decode(await self._ask(lambda: self.client.request(call)))
        return applied

    async def place(self, tree: JsonObject, namespace: str) -> JsonObject:
        """The document with a namespace, when its kind has one and it names none."""
        resource, metadata = await self.resource_of(tree), tree.get("metadata") or {}
        if not resource.is_namespaced or metadata.get("namespace"):
            return tree
        return {**tree, "metadata": {**metadata, "namespace": namespace}}

    async def find(self, tree: JsonObject) -> JsonObject | None:
        """The object that a document is about, as it is now."""
        resource, metadata = await self.resource_of(tree), tree["metadata"]
        try:
            body = await self._ask(lambda: self.client.get(resource, metadata.get("namespace", ""), metadata["name"]))
        except NotFoundError:
            return None
        found: JsonObject = msgspec.json.decode(body)
        return found

    async def list_in(self, resource: ResourceType, namespace: str, label_selector: str = "") -> list[JsonObject]:
        body = await self._ask(
            lambda: self.client.list_page(
                resource, namespace=namespace, label_selector=label_selector, limit=_LONGEST_LIST
            )
        )
        items: list[JsonObject] = msgspec.json.decode(body)["items"]
        return items

    async def delete(self, tree: JsonObject) -> None:
        """Just this one: another object under the name stays."""
        resource, metadata = await self.resource_of(tree), tree["metadata"]
        try:
            namespace, name, uid = metadata.get("namespace", ""), metadata["name"], metadata["uid"]
            await self._ask(lambda: self.client.delete(resource, namespace, name, uid=uid, propagation="Foreground"))
        except NotFoundError:
            return

    async def resource_of(self, tree: JsonObject) -> ResourceType:
        wanted = (tree["apiVersion"], tree["kind"])
        if wanted not in self._types:
            served = await self._ask(lambda: discover(self.client))
            self._types = {(each.api_version, each.kind): each for each in served}
        found = self._types.get(wanted)
        if found is None:
            raise UnknownKindError(f"the server knows no {wanted[1]} of {wanted[0]}")
        return found

    async def _ask(self, ask: Callable[[], Awaitable[T]]) -> T:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return await ask()
            except (UnavailableError, AmbiguousError) as error:
                if time.monotonic() > deadline or _is_final(error):
                    raise
            await asyncio.sleep(_AGAIN_SECONDS)


def _is_final(error: ApiError) -> bool:
    """The server has answered, and not that it is busy: a document that does not fit its kind is a 500 to server-side
    apply, and gets the same answer every time."""
    return error.is_answer and not isinstance(error, ThrottledError)


@asynccontextmanager
async def open_session(kubeconfig: Path, seconds: float = 30.0, patience: float = 0.0) -> AsyncIterator[Session]:
    transport = HttpsTransport(find_connection(os.environ, kubeconfig, ""), "heliostat")
    try:
        yield Session(transport, Client(transport, clock=time.monotonic, request_seconds=seconds), patience)
    finally:
        await transport.close()
