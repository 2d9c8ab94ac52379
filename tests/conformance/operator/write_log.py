"""A transport that keeps what a program wrote and what became of it: the test's own audit log."""

from typing import Any

import msgspec
from msgspec import Struct

from heliostat.operator.used_rights import Use, read_use
from heliostat.runtime.transport import Call, Chunks, Reply, Transport

EVENTS = "events"


class Write(Struct, frozen=True):
    """``tree`` is what was sent; ``answer`` what came back."""

    use: Use
    namespace: str
    name: str  # empty for a create
    tree: Any
    status: int
    answer: Any

    @property
    def is_done(self) -> bool:
        return self.status < 400

    def __str__(self) -> str:
        name = self.name or self.tree["metadata"].get("name") or self.tree["metadata"].get("generateName", "")
        return f"{self.use} {self.namespace}/{name} -> {self.status}"


class WriteLog:
    """Events are told, not written: they are left out."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._writes: dict[str, list[Write]] = {}
        self.count = 0

    async def send(self, call: Call, seconds: float) -> Reply:
        reply = await self._transport.send(call, seconds)
        use = read_use(call)
        if call.is_write and use is not None:
            self.count += 1
            if use.resource != EVENTS:
                self._note(call, use, reply)
        return reply

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self._transport.open(call, seconds)

    async def close(self) -> None:
        await self._transport.close()

    def in_namespace(self, namespace: str) -> list[Write]:
        return list(self._writes.get(namespace, ()))

    def forget(self, namespace: str) -> None:
        self._writes.pop(namespace, None)

    def _note(self, call: Call, use: Use, reply: Reply) -> None:
        _before, _, rest = call.path.partition("/namespaces/")
        namespace, _resource, name = (*rest.split("/"), "", "")[:3]
        write = Write(use, namespace, name, _decode(call.body), reply.status, _decode(reply.body))
        self._writes.setdefault(namespace, []).append(write)


def _decode(body: bytes) -> Any:
    return msgspec.json.decode(body) if body else None
