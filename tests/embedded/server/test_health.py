"""Health endpoints: in a word, check by check, and when something is wrong."""

import asyncio

import pytest

from embedded.server.asking import ask
from embedded.server.inprocess import ADMIN, NOW, Client, serve
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.describing.health import Check, answer_health
from heliostat.embedded.server.messages import Request, Response
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store

WELL: dict[str, Check] = {"ping": lambda: "", "storage": lambda: ""}
ILL: dict[str, Check] = {**WELL, "storage": lambda: "the disk is full"}


def answer(path: str, checks: dict[str, Check], **query: list[str]) -> Response:
    found = answer_health(Request(method="GET", path=path, user=ADMIN, query=query), checks)
    assert found is not None
    return found


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/healthz/ping", "/livez/storage", "/readyz/ping"])
def test_a_server_that_is_well_says_ok(path: str) -> None:
    async def test(client: Client) -> None:
        found = await ask(client, path)
        assert (found.status, found.body, found.content_type) == (200, b"ok", "text/plain; charset=utf-8")

    serve(test)


def test_verbose_lists_the_checks() -> None:
    found = answer("/readyz", WELL, verbose=[""])
    assert (found.status, found.body) == (200, b"[+]ping ok\n[+]storage ok\nreadyz check passed\n")


def test_what_is_wrong_is_shown_without_its_reason() -> None:
    found = answer("/livez", ILL)
    assert found.status == 500
    assert found.body == b"[+]ping ok\n[-]storage failed: reason withheld\nlivez check failed\n"
    one = answer("/livez/storage", ILL)
    assert (one.status, one.body) == (500, b"internal server error: reason withheld\n")
    assert answer("/livez/ping", ILL).status == 200


def test_a_check_can_be_left_out_by_name() -> None:
    assert answer("/readyz", ILL, exclude=["storage"]).body == b"ok"
    found = answer("/readyz", WELL, exclude=["ping", "foo", "bar"], verbose=[""])
    assert found.body.decode().splitlines() == [
        "[+]ping excluded: ok",
        "[+]storage ok",
        'warn: some health checks cannot be excluded: no matches for "bar", "foo"',
        "readyz check passed",
    ]


@pytest.mark.parametrize("path", ["/healthz/", "/healthz/nothing", "/health", "/readyz/ping/more"])
def test_other_paths_are_no_health_endpoints(path: str) -> None:
    assert answer_health(Request(method="GET", path=path, user=ADMIN), WELL) is None


def test_a_server_whose_store_has_ended_is_not_healthy() -> None:
    async def run() -> None:
        store = Store(MemoryJournal())
        authority = Authority(now=lambda: NOW, new_uid=lambda: "u", random_index=lambda _below: 0)
        core = ApiCore(store, authority, lambda _user, _attributes: None, on_bug=_raise)
        client = Client(core)
        assert (await ask(client, "/readyz")).status == 200
        await store.close()
        found = await ask(client, "/readyz")
        assert found.status == 500
        assert b"[-]storage failed" in found.body

    asyncio.run(run())


def _raise(error: BaseException) -> None:
    raise error
