"""The API server's service proxy in the simulated world: calls through it are answered by what stands behind.

It lies inside a program's connection, so a call to Ray has a number like every other call: a program can die before it
is sent, after it was carried out, or with it still on its way.
"""

from collections.abc import Sequence

from heliostat.runtime.transport import Call, Chunks, Reply, Transport

PROXY = "proxy"


def is_proxied(path: str) -> bool:
    """``/api/v1/namespaces/NAMESPACE/(services|pods)/NAME:PORT/proxy/…``"""
    parts = path.split("/", 8)
    return parts[1:4] == ["api", "v1", "namespaces"] and parts[5:6] in (["services"], ["pods"]) and PROXY in parts[7:8]


class ServiceProxy:
    """``services`` is read with every call: what stands behind the proxy may come later."""

    def __init__(self, server: Transport, services: Sequence[Transport]) -> None:
        self._server = server
        self._services = services

    async def send(self, call: Call, seconds: float) -> Reply:
        return await self._of(call).send(call, seconds)

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        return await self._of(call).open(call, seconds)

    async def close(self) -> None:
        """Nothing is held."""

    def _of(self, call: Call) -> Transport:
        return self._services[0] if self._services and is_proxied(call.path) else self._server
