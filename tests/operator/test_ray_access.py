"""The way to a dashboard, and the token that it asks for."""

import asyncio
import base64
from typing import Any

import pytest

from heliostat.kube.jsontree import encode_json
from heliostat.operator.ray_access import Place, RayAccess
from heliostat.ray.ways import DirectWays, ProxiedWays
from heliostat.runtime.errors import NotFoundError, UnavailableError
from heliostat.runtime.transport import Call, Reply

INFO = b'{"status": "RUNNING", "submission_id": "j"}'
ADDRESS = "c-head-svc.ns.svc.cluster.local:8265"


class Asked:
    """A transport that keeps what went through it."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    async def send(self, call: Call, seconds: float) -> Reply:
        self.calls.append(call)
        return Reply(200, INFO)

    async def open(self, call: Call, seconds: float) -> Reply:
        return await self.send(call, seconds)

    async def close(self) -> None:
        """Nothing is held."""


class Secrets:
    """The part of a client that is asked."""

    fence = None

    def __init__(self, **data: str) -> None:
        self._data = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}

    async def get(self, _resource: Any, namespace: str, name: str) -> bytes:
        if (namespace, name) != ("ns", "token"):
            raise NotFoundError(404, "NotFound", f'secrets "{name}" not found')
        return encode_json({"data": self._data})


def ask(secrets: Secrets, place: Place, *, is_proxied: bool = False) -> Call:
    asked = Asked()
    ways = ProxiedWays(asked) if is_proxied else DirectWays(asked)

    async def play() -> None:
        dashboard = await RayAccess(secrets, ways).open(place)  # type: ignore[arg-type]
        await dashboard.fetch_job("j")

    asyncio.run(play())
    return asked.calls[0]


def test_a_dashboard_is_asked_at_its_address() -> None:
    call = ask(Secrets(), Place("ns", ADDRESS))
    assert (call.path, call.headers) == (f"//{ADDRESS}/api/jobs/j", ())


def test_through_the_api_server_its_service_is_named() -> None:
    call = ask(Secrets(), Place("ns", ADDRESS), is_proxied=True)
    assert call.path == "/api/v1/namespaces/ns/services/c-head-svc:dashboard/proxy/api/jobs/j"


def test_a_token_is_read_when_it_is_needed_and_goes_along() -> None:
    call = ask(Secrets(auth_token="abc"), Place("ns", ADDRESS, "token"))
    assert call.headers == (("x-ray-authorization", "Bearer abc"),)


@pytest.mark.parametrize(
    ("secrets", "name", "words"),
    [
        (Secrets(), "token", "has no key auth_token"),
        (Secrets(auth_token="abc"), "other", "not found"),
    ],
)
def test_a_token_that_is_not_there_is_told(secrets: Secrets, name: str, words: str) -> None:
    with pytest.raises((UnavailableError, NotFoundError), match=words):
        ask(secrets, Place("ns", ADDRESS, name))
