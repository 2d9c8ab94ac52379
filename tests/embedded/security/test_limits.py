"""Everything that a client can make long, deep, slow or many has an end, and the server goes on."""

import asyncio
import gzip
import logging
import resource
import select
import socket
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from embedded.security.guarded import JSON, Guarded, guarding
from embedded.security.routes import definition
from embedded.security.wire import Asked, Told, Wire
from heliostat.embedded.server.limits import LARGEST_BODY, Limits

pytestmark = pytest.mark.slow

MAPS = "/api/v1/namespaces/default/configmaps"
GADGETS = "/apis/fold.example/v1/namespaces/default/gadgets"
QUICK = Limits(headers_seconds=0.5, body_seconds=0.5)
YAML = ("Content-Type", "application/yaml")
DEEP = (50, 300, 700, 950, 1200, 5000, 100_000)
ESTABLISHED = 1


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": data}


async def is_alive(guarded: Guarded) -> bool:
    return (await guarded.do("GET", MAPS)).status == 200


async def one(guarded: Guarded, asked: Asked) -> Told:
    async with guarded.wire(guarded.admin()) as wire:
        told = await wire.ask(asked)
    assert told is not None, "ended without an answer"
    return told


async def raw(guarded: Guarded, data: bytes, method: str = "GET") -> Told | None:
    async with guarded.wire(guarded.admin()) as wire:
        await wire.send(data)
        return await wire.receive(method)


async def holds(condition: Callable[[], Awaitable[bool]], seconds: float = 20.0) -> None:
    """Until it does, looking again at every turn of the loop that something happens in."""
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.01)


class TestSize:
    @pytest.mark.parametrize("extra", [1, 10 * 1024 * 1024])
    def test_a_body_beyond_three_mebibytes_is_refused_in_the_real_servers_words(
        self, tmp_path: Path, extra: int
    ) -> None:
        async def test(guarded: Guarded) -> None:
            for method, path in (("POST", MAPS), ("PUT", f"{MAPS}/a"), ("PATCH", f"{MAPS}/a"), ("DELETE", f"{MAPS}/a")):
                told = await one(guarded, Asked(method, path, (JSON,), b" " * (LARGEST_BODY + extra)))
                assert told.status == 413
                assert told.tree["reason"] == "RequestEntityTooLarge"
                assert told.tree["message"] == "Request entity too large: limit is 3145728"
            assert await is_alive(guarded)

        guarding(tmp_path / "data", test)

    def test_a_body_that_says_it_is_too_large_is_not_waited_for(self, tmp_path: Path) -> None:
        async def test(guarded: Guarded) -> None:
            head = f"POST {MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {10**15}\r\n\r\n"
            told = await raw(guarded, head.encode())
            assert told is not None
            assert told.status == 413

        guarding(tmp_path / "data", test)

    def test_a_body_without_end_is_cut_off_and_many_of_them_take_no_memory(self, tmp_path: Path) -> None:
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"

        async def endless(guarded: Guarded) -> int:
            async with guarded.wire(guarded.admin()) as wire:
                head = f"POST {MAPS} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                await wire.send(head.encode())
                for _ in range(LARGEST_BODY // 0x10000 + 1):
                    await wire.send(chunk)
                told = await wire.receive()
            assert told is not None
            return told.status

        async def test(guarded: Guarded) -> None:
            await endless(guarded)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            assert await asyncio.gather(*(endless(guarded) for _ in range(8))) == [413] * 8
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            assert grown < 150 * 1024, f"{grown} KiB"
            assert await is_alive(guarded)

        guarding(tmp_path / "data", test)

    def test_packed_bodies_stay_packed(self, tmp_path: Path) -> None:
        """No client of the API packs a request; 3 MiB of zeros fit into 3 KiB."""

        async def test(guarded: Guarded) -> None:
            bomb = gzip.compress(b" " * (20 * 1024 * 1024))
            for encoding in ("gzip", "deflate", "br"):
                told = await one(guarded, Asked("POST", MAPS, (JSON, ("Content-Encoding", encoding)), bomb))
                assert told.status == 400, told

        guarding(tmp_path / "data", test)

    @pytest.mark.parametrize(
        "asked",
        [
            Asked("GET", f"{MAPS}?labelSelector={'a' * 100_000}"),
            Asked("GET", f"{MAPS}/{'a' * 100_000}"),
            Asked("GET", MAPS, (("X-Long", "a" * 100_000),)),
            Asked("GET", MAPS, (("Authorization", f"Bearer {'a' * 100_000}"),)),
            Asked("GET", MAPS, (("X" * 100_000, "a"),)),
            Asked("GET", MAPS, tuple((f"X-{number}", "a") for number in range(5000))),
            Asked("G" * 100_000, MAPS),
        ],
        ids=["query", "path", "header", "token", "header name", "many headers", "method"],
    )  # fmt: skip
    def test_long_lines_and_many_headers_are_refused(self, tmp_path: Path, asked: Asked) -> None:
        async def test(guarded: Guarded) -> None:
            assert (await one(guarded, asked)).status in (400, 431)
            assert await is_alive(guarded)

        guarding(tmp_path / "data", test)

    def test_what_controllers_send_is_far_from_the_limits(self, tmp_path: Path) -> None:
        async def test(guarded: Guarded) -> None:
            selector = ",".join(f"key-{number}%3Dvalue" for number in range(1000))
            headers = tuple((f"X-{number}", "a" * 100) for number in range(80))
            told = await one(guarded, Asked("GET", f"{MAPS}?labelSelector={selector}", (*headers, ("X", "a" * 16_000))))
            assert told.status == 200

        guarding(tmp_path / "data", test)


@pytest.mark.slow
class TestDepth:
    """A tree deeper than the stack is refused, whichever way it comes in; none is a bug."""

    @pytest.mark.parametrize("opening", ['{"a":', "["])
    def test_deep_json_is_refused_or_kept_but_never_a_bug(self, tmp_path: Path, opening: str) -> None:
        closing = "}" if opening.startswith("{") else "]"

        async def test(guarded: Guarded) -> None:
            await guarded.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
            gadget = {"kind": "Gadget", "apiVersion": "fold.example/v1", "metadata": {"name": "g"}}
            await guarded.make(GADGETS, gadget)
            await guarded.make(MAPS, config_map("m"))
            statuses: set[int] = set()
            for depth in DEEP:
                deep = opening * depth + "1" + closing * depth
                for path, name, kind, version in (
                    (GADGETS, "g", "Gadget", "fold.example/v1"),
                    (MAPS, "m", "ConfigMap", "v1"),
                ):
                    for asked in deep_requests(path, name, kind, version, deep):
                        told = await one(guarded, asked)
                        assert not told.is_bug, (depth, asked.method, asked.headers, told)
                        statuses.add(told.status)
            assert {200, 400} <= statuses
            assert await is_alive(guarded)

        guarding(tmp_path / "data", test)


def deep_requests(path: str, name: str, kind: str, version: str, deep: str) -> list[Asked]:
    head = f'{{"kind":"{kind}","apiVersion":"{version}","metadata":{{"name":"%s"}}'
    item = f"{path}/{name}"
    query = "?fieldManager=f&force=true"
    return [
        Asked("POST", path, (JSON,), f'{head % "new"},"spec":{deep}}}'.encode()),
        Asked("POST", path, (YAML,), f'{head % "new"},"spec":{deep}}}'.encode()),
        Asked("PUT", item, (JSON,), f'{head % name},"spec":{deep}}}'.encode()),
        Asked("PATCH", item, patching("merge-patch+json"), f'{{"spec":{deep}}}'.encode()),
        Asked("PATCH", item, patching("strategic-merge-patch+json"), f'{{"spec":{deep}}}'.encode()),
        Asked("PATCH", item, patching("json-patch+json"), f'[{{"op":"add","path":"/spec","value":{deep}}}]'.encode()),
        Asked("PATCH", item + query, patching("apply-patch+yaml"), f'{head % name},"spec":{deep}}}'.encode()),
        Asked("DELETE", f"{path}/none", (JSON,), f'{{"preconditions":{deep}}}'.encode()),
        Asked("GET", item),
        Asked("GET", path, (("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),)),
        Asked("GET", item, (("Accept", "application/yaml"),)),
    ]


def patching(kind: str) -> tuple[tuple[str, str], ...]:
    return (("Content-Type", f"application/{kind}"),)


class TestGrowth:
    def test_cve_2019_11253_yaml_aliases_do_not_multiply(self, tmp_path: Path) -> None:
        rows = [f"  b{i}: &b{i} [{', '.join([f'*b{i - 1}'] * 9)}]" for i in range(1, 10)]
        text = "\n".join(
            ["kind: ConfigMap", "apiVersion: v1", "metadata: {name: bomb}", "data:", '  b0: &b0 "x"', *rows]
        )

        async def test(guarded: Guarded) -> None:
            for asked in (
                Asked("POST", MAPS, (YAML,), text.encode()),
                Asked(
                    "PATCH",
                    f"{MAPS}/bomb?fieldManager=f",
                    (("Content-Type", "application/apply-patch+yaml"),),
                    text.encode(),
                ),
            ):
                begun = time.process_time()
                assert (await one(guarded, asked)).status in (400, 413, 422)
                assert time.process_time() - begun < 5

        guarding(tmp_path / "data", test)

    @pytest.mark.parametrize(
        "operations",
        [
            [{"op": "copy", "from": "/data", "path": f"/data{'/x' * depth}"} for depth in range(1, 40)],
            [{"op": "copy", "from": "/data/k", "path": f"/data/k{number}"} for number in range(9_000)],
            [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 20_000,
            [{"op": "add", "path": "/data/-", "value": "x"}, {"op": "copy", "from": "", "path": "/data/all"}] * 4_000,
        ],
        ids=["doubling", "many", "too many", "whole document"],
    )
    def test_cve_2019_1002100_a_json_patch_does_not_multiply(
        self, tmp_path: Path, operations: list[dict[str, Any]]
    ) -> None:
        async def test(guarded: Guarded) -> None:
            await guarded.make(MAPS, config_map("m", k="v" * 1000))
            body = msgspec.json.encode(operations)
            begun, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            told = await one(
                guarded, Asked("PATCH", f"{MAPS}/m", (("Content-Type", "application/json-patch+json"),), body)
            )
            assert told.status in (400, 413, 422), told
            assert time.process_time() - begun < 5
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024
            assert (await guarded.do("GET", f"{MAPS}/m")).tree["data"] == {"k": "v" * 1000}

        guarding(tmp_path / "data", test)


class TestTime:
    def test_who_says_nothing_is_hung_up_on(self, tmp_path: Path) -> None:
        async def test(guarded: Guarded) -> None:
            for beginning in (b"", b"G", b"GET /healthz HTTP/1.1\r\n", b"GET /healthz HTTP/1.1\r\nHost: local"):
                assert await raw(guarded, beginning) is None
            async with guarded.wire(guarded.admin()) as wire:  # nor is a second request waited for
                told = await wire.ask(Asked("GET", "/healthz"))
                assert told is not None
                await wire.send(b"GET /healthz HTTP/1.1\r\nX: ")
                assert await wire.receive() is None

        guarding(tmp_path / "data", test, QUICK)

    def test_who_does_not_speak_tls_is_hung_up_on(self, tmp_path: Path) -> None:
        async def test(guarded: Guarded) -> None:
            for beginning in (b"", b"\x16\x03\x01\x02"):
                reader, writer = await asyncio.open_connection("127.0.0.1", guarded.server.port)
                writer.write(beginning)
                assert await asyncio.wait_for(reader.read(), 20) == b""
                writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", guarded.server.port)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert not (await asyncio.wait_for(reader.read(), 20)).startswith(b"HTTP")
            writer.close()

        guarding(tmp_path / "data", test, Limits(handshake_seconds=0.3))

    @pytest.mark.parametrize("framing", ["Content-Length: 100", "Transfer-Encoding: chunked"])
    def test_a_body_that_does_not_come_is_not_waited_for(self, tmp_path: Path, framing: str) -> None:
        async def test(guarded: Guarded) -> None:
            head = f"POST {MAPS} HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n"
            told = await raw(guarded, head.encode() + b"5\r\n{")
            assert told is not None
            assert told.status == 408
            assert told.tree["message"] == "the body of the request did not arrive within 0.5 seconds"

        guarding(tmp_path / "data", test, QUICK)

    @pytest.mark.slow
    def test_who_does_not_read_a_large_answer_is_hung_up_on(self, tmp_path: Path) -> None:
        async def test(guarded: Guarded) -> None:
            for number in range(24):
                await guarded.make(MAPS, config_map(f"m{number}", k="v" * 900_000))
            for query in ("", "?watch=true&resourceVersion=0"):
                await hung_up_on(guarded, f"{MAPS}{query}")
            assert (await guarded.do("GET", f"{MAPS}/m0")).status == 200

        guarding(tmp_path / "data", test, Limits(write_seconds=1.0))

    def test_readers_of_one_list_share_it_however_slow_they_are(self, tmp_path: Path) -> None:
        async def test(guarded: Guarded) -> None:
            for number in range(8):
                await guarded.make(MAPS, config_map(f"m{number}", k="v" * 900_000))
            tracemalloc.start()
            try:
                async with AsyncExitStack() as sleeping:
                    sleepers = [await sleeping.enter_async_context(asking(guarded, MAPS)) for _ in range(8)]
                    for sleeper in sleepers:
                        await holds(partial(has_begun, sleeper))
                    assert tracemalloc.get_traced_memory()[0] < 3 * 7_200_000  # held once, and pieces on their way
                    assert all(map(is_established, sleepers))
            finally:
                tracemalloc.stop()

        guarding(tmp_path / "data", test)

    def test_who_does_not_read_makes_room_for_who_does(self, tmp_path: Path) -> None:
        """Each answer is another one, so that they cannot share it."""

        async def test(guarded: Guarded) -> None:
            for number in range(8):
                await guarded.make(MAPS, config_map(f"m{number}", k="v" * 900_000))
            async with asking(guarded, MAPS) as sleeper:
                await holds(partial(has_begun, sleeper))
                await holds(lambda: answers(guarded, f"{MAPS}?limit=7"))
                assert not is_established(sleeper)

        async def answers(guarded: Guarded, path: str) -> bool:
            told = await guarded.do("GET", path)
            assert told.status in (200, 429)
            assert told.status == 200 or ("retry-after", "1") in told.headers.items()
            return told.status == 200

        guarding(tmp_path / "data", test, Limits(unread_bytes=8_000_000, stalled_seconds=1.0))


@asynccontextmanager
async def asking(guarded: Guarded, path: str) -> AsyncIterator[socket.socket]:
    """Asks and does not read."""
    plain = socket.create_connection(("127.0.0.1", guarded.server.port))
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection = await asyncio.to_thread(guarded.admin().wrap_socket, plain, server_hostname="localhost")
    with connection:
        await asyncio.to_thread(connection.sendall, Asked("GET", path).build())
        yield connection


def is_established(connection: socket.socket) -> bool:
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED


async def has_begun(connection: socket.socket) -> bool:
    """Whether something of the answer is there to read."""
    return bool(select.select([connection], [], [], 0)[0])


async def hung_up_on(guarded: Guarded, path: str) -> None:
    """Asks and does not read, until the system says that the connection is no more."""
    async with asking(guarded, path) as connection:

        async def is_over() -> bool:
            return not is_established(connection)

        await holds(is_over)


class TestNumber:
    def test_connections_too_many_are_ended_and_the_others_go_on(self, tmp_path: Path) -> None:
        limits = Limits(connections_per_address=3)

        async def answers(wire: Wire) -> bool:
            return await wire.ask(Asked("GET", "/healthz")) is not None

        async def test(guarded: Guarded) -> None:
            tls = guarded.tls()
            wires = [guarded.wire(tls) for _ in range(3)]
            for wire in wires:
                await wire.open()
                assert await answers(wire)
            extra = guarded.wire(tls)
            await extra.open()
            assert not await answers(extra)
            assert all([await answers(wire) for wire in wires])
            await wires.pop().close()

            async def is_let_in() -> bool:
                async with guarded.wire(tls) as wire:
                    return await answers(wire)

            await holds(is_let_in)
            for wire in wires:
                await wire.close()

        guarding(tmp_path / "data", test, limits)

    def test_connections_are_counted_over_all_addresses_too(self, tmp_path: Path) -> None:
        async def test(guarded: Guarded) -> None:
            async with guarded.wire(guarded.tls()) as first:
                assert await first.ask(Asked("GET", "/healthz")) is not None
                async with guarded.wire(guarded.tls()) as second:
                    assert await second.ask(Asked("GET", "/healthz")) is None

        guarding(tmp_path / "data", test, Limits(connections=1))

    def test_a_user_has_so_many_watches_and_others_theirs(self, tmp_path: Path) -> None:
        async def test(guarded: Guarded) -> None:
            admin, other = guarded.admin(), guarded.tls_of("other", "system:masters")
            watch = Asked("GET", f"{MAPS}?watch=true").build()
            wires = [guarded.wire(admin) for _ in range(2)]
            for wire in wires:
                await wire.open()
                await wire.send(watch)
                assert (await wire.receive_head()).status == 200
            async with guarded.wire(admin) as third, guarded.wire(other) as theirs:
                told = await third.ask(Asked("GET", f"{MAPS}?watch=true"))
                assert told is not None
                assert (told.status, told.tree["reason"], told.headers["retry-after"]) == (429, "TooManyRequests", "1")
                assert (await guarded.do("GET", MAPS, tls=admin)).status == 200  # only streams are counted
                await theirs.send(watch)
                assert (await theirs.receive_head()).status == 200
                await wires.pop().close()

                async def is_let_in() -> bool:
                    await third.send(watch)
                    head = await third.receive_head()
                    if head.status != 200:
                        await third.read(int(head.headers["content-length"]))
                    return head.status == 200

                await holds(is_let_in)
            await wires.pop().close()

        guarding(tmp_path / "data", test, Limits(streams_per_user=2))


AMBIGUOUS = {
    "both framings": b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
    "a list of lengths": b"Content-Length: 4, 5\r\n\r\nabcde",
    "a signed length": b"Content-Length: +4\r\n\r\nabcd",
    "a negative length": b"Content-Length: -1\r\n\r\n",
    "a length in hex": b"Content-Length: 0x4\r\n\r\nabcd",
    "an endless length": b"Content-Length: " + b"9" * 4400 + b"\r\n\r\n",
    "another coding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked not last": b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "chunked twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a wrong chunk size": b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
    "a chunk without its end": b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcX0\r\n\r\n",
    "space before the colon": b"Content-Length : 4\r\n\r\nabcd",
    "a folded header": b"X-A: b\r\n Content-Length: 4\r\n\r\nabcd",
    "a bare carriage return": b"X-A: b\rContent-Length: 4\r\n\r\nabcd",
    "a NUL": b"X-A: b\x00c\r\n\r\n",
    "no name": b": b\r\n\r\n",
    "two hosts": b"Host: evil.example\r\n\r\n",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_two_readers_could_read_differently_is_refused(tmp_path: Path, name: str) -> None:
    """Else a proxy in front of the server and the server would disagree where the next request begins."""

    async def test(guarded: Guarded) -> None:
        hidden = b"DELETE /api/v1/namespaces/default/configmaps/m HTTP/1.1\r\nHost: localhost\r\n\r\n"
        await guarded.make(MAPS, config_map("m"))
        head = f"POST {MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
        told = await raw(guarded, head + AMBIGUOUS[name] + hidden)
        assert told is None or told.status == 400, told
        assert (await guarded.do("GET", f"{MAPS}/m")).status == 200

    guarding(tmp_path / "data", test, QUICK)


def test_requests_sent_ahead_are_answered_in_order_and_within_bounds(tmp_path: Path) -> None:
    async def test(guarded: Guarded) -> None:
        await guarded.make(MAPS, *(config_map(f"m{number}") for number in range(5)))
        asked = [Asked("GET", f"{MAPS}/m{number % 5}") for number in range(500)]
        async with guarded.wire(guarded.admin()) as wire:
            await wire.send(b"".join(each.build() for each in asked))
            for number in range(500):
                told = await wire.receive()
                assert told is not None
                assert told.tree["metadata"]["name"] == f"m{number % 5}"

    guarding(tmp_path / "data", test)


@pytest.mark.parametrize(
    "broken",
    [
        b"GET /api HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer canary-token\x00\r\n\r\n",
        b"GET /api HTTP/1.1\r\nHost: localhost\r\nAuthorization : Bearer canary-token\r\n\r\n",
        b"canary-token /api HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /api?canary-token HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET /api HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer canary-token" + b"a" * 40_000 + b"\r\n\r\n",
        b"POST /api HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\ncanary-token\r\n",
        b"GET /api HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer canary-token\r\n\r\n",
    ],
)
def test_what_is_refused_is_neither_repeated_nor_logged(
    tmp_path: Path, broken: bytes, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """The library would log, and repeat, the line that it could not read, with the token in it."""
    caplog.set_level(logging.DEBUG)

    async def test(guarded: Guarded) -> None:
        async with guarded.wire(guarded.tls()) as wire:
            await wire.send(broken)
            told = await wire.receive()
        assert told is not None
        assert told.status in (400, 401, 431)
        assert told.tree["kind"] == "Status"
        assert b"canary" not in told.body

    guarding(tmp_path / "data", test)
    out, err = capfd.readouterr()
    assert "canary" not in caplog.text + out + err
