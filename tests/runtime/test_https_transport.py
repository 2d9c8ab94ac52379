"""Calls over HTTPS: what can have been sent, what cannot, nothing twice, streams as they come."""

import asyncio
import logging
import socket
import ssl
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop
from msgspec.structs import replace

from heliostat.embedded.access.certificates import build_client_certificate
from heliostat.embedded.access.identity import new_identity
from heliostat.kube.hidden import Hidden
from heliostat.runtime.connection import AccessError, Connection
from heliostat.runtime.errors import AmbiguousError, UnavailableError
from heliostat.runtime.http_exchange import MOST_UNREAD
from heliostat.runtime.https_transport import SENT_AT_ONCE, HttpsTransport
from heliostat.runtime.stored_credentials import StoredCredentials
from heliostat.runtime.stored_texts import FixedText
from heliostat.runtime.transport import Call, Chunks, Reply
from runtime.raw_server import (
    AUTHORITY,
    IDENTITY,
    OK,
    Exchange,
    RawServer,
    connection_to,
    listening,
    raw_server,
    server_tls,
)

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
SOON, LONG = 0.3, 20.0
STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def call(method: str = "GET") -> Call:
    return Call(method=method, path="/x", body=b"" if method == "GET" else b'{"a":1}')


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(40):
            await test

    asyncio.run(bounded())


@asynccontextmanager
async def transport_to(connection: Connection, **more: Any) -> AsyncIterator[HttpsTransport]:
    transport = HttpsTransport(connection, **more)
    try:
        yield transport
    finally:
        await transport.close()


async def answer_ok(exchange: Exchange) -> bool:
    await exchange.say(OK)
    return True


async def hang_up(_exchange: Exchange) -> bool:
    return False


async def say_nothing(exchange: Exchange) -> bool:
    await exchange.until_closed()
    return False


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.mark.parametrize("method", METHODS)
def test_a_connection_lost_after_sending_is_ambiguous_and_nothing_is_sent_twice(method: str) -> None:
    async def first_only(exchange: Exchange) -> bool:
        if exchange.line.startswith("HEAD"):
            await exchange.say(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            return True
        return False

    async def test() -> None:
        async with raw_server(first_only) as server, transport_to(connection_to(server.port)) as transport:
            await transport.send(
                Call(method="HEAD", path="/warm"), LONG
            )  # so that the next one meets an old connection
            with pytest.raises(AmbiguousError, match=f"{method} /x"):
                await transport.send(call(method), LONG)
            assert [exchange.line for exchange in server.asked[1:]] == [f"{method} /x HTTP/1.1"]
            assert server.connections == 1

    run(test())


@pytest.mark.parametrize(
    "half",
    [
        b"HTTP/1.1 200 OK\r\nContent-",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"",
    ],
)
def test_half_an_answer_is_ambiguous(half: bytes) -> None:
    async def answer(exchange: Exchange) -> bool:
        await exchange.say(half)
        return False

    async def test() -> None:
        async with raw_server(answer) as server, transport_to(connection_to(server.port)) as transport:
            with pytest.raises(AmbiguousError):
                await transport.send(call("POST"), LONG)

    run(test())


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
def test_no_answer_in_time_is_ambiguous(said: bytes) -> None:
    async def answer(exchange: Exchange) -> bool:
        await exchange.say(said)
        return await say_nothing(exchange)

    async def test() -> None:
        async with raw_server(answer) as server, transport_to(connection_to(server.port)) as transport:
            with pytest.raises(AmbiguousError, match="no answer within"):
                await transport.send(call("POST"), SOON)

    run(test())


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_nobody_listening_is_unavailable() -> None:
    async def test() -> None:
        async with transport_to(connection_to(free_port())) as transport:
            with pytest.raises(UnavailableError, match="POST /x"):
                await transport.send(call("POST"), LONG)

    run(test())


def test_a_server_that_never_finishes_the_handshake_is_unavailable() -> None:
    async def never(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def test() -> None:
        async with listening(never) as port, transport_to(connection_to(port)) as transport:
            with pytest.raises(UnavailableError, match="no answer within"):
                await transport.send(call("POST"), SOON)

    run(test())


def old_tls() -> ssl.SSLContext:
    context = server_tls()
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


STRANGER = FixedText(Hidden(new_identity(time.time()).authority.certificate))


@pytest.mark.parametrize(
    ("change", "tls", "problem"),
    [
        ({"authority": STRANGER}, None, "certificate verify failed"),
        ({"authority": None}, None, "certificate verify failed"),
        ({"tls_server_name": "elsewhere.example"}, None, "elsewhere.example"),
        ({}, old_tls(), ""),
    ],
)
def test_a_server_that_cannot_prove_itself_gets_nothing(
    change: dict[str, Any], tls: ssl.SSLContext | None, problem: str
) -> None:
    async def test() -> None:
        async with raw_server(answer_ok, tls) as server:
            async with transport_to(replace(connection_to(server.port), **change)) as transport:
                with pytest.raises(UnavailableError) as raised:
                    await transport.send(call("POST"), LONG)
            assert problem in str(raised.value)
            assert server.asked == []

    run(test())


def test_verification_is_off_only_on_request_and_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with raw_server(answer_ok) as server:
            connection = replace(connection_to(server.port), authority=None, skip_tls_verify=True)
            async with transport_to(connection) as transport:
                for _ in range(3):
                    assert await transport.send(call(), LONG) == Reply(200, b"{}")
        assert [record.getMessage() for record in caplog.records if "insecure-skip" in record.getMessage()] == [
            f"{connection.server}: insecure-skip-tls-verify is set: anybody in between can read and change all"
        ]

    with caplog.at_level(logging.WARNING):
        run(test())


def test_the_certificate_is_verified_for_the_given_name() -> None:
    async def test() -> None:
        async with raw_server(answer_ok) as server:
            connection = replace(connection_to(server.port), tls_server_name="localhost")
            async with transport_to(connection) as transport:
                assert (await transport.send(call(), LONG)).status == 200

    run(test())


KEY, CHAIN = IDENTITY.server.key, IDENTITY.server.certificate


def locked_key() -> str:
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
        load_pem_private_key,
    )

    key = load_pem_private_key(KEY.reveal().encode(), None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")).decode()


@pytest.mark.parametrize(
    ("chain", "key", "problem"),
    [
        (CHAIN, locked_key(), "the client key is protected with a password; write the key without one: openssl"),
        ("nothing", KEY.reveal(), "the client certificate and key are not PEM texts that belong together"),
        (IDENTITY.authority.certificate, KEY.reveal(), "the client certificate and key are not PEM texts that belong"),
    ],
)
def test_a_certificate_that_cannot_be_shown_is_told_and_nobody_is_asked(chain: str, key: str, problem: str) -> None:
    async def test() -> None:
        certificate = (FixedText(Hidden(chain)), FixedText(Hidden(key)))
        credentials = StoredCredentials("here", certificate=certificate)
        async with transport_to(replace(connection_to(1), credentials=credentials)) as transport:
            with pytest.raises(AccessError) as raised:
                await transport.send(call(), LONG)
            assert problem in str(raised.value)

    run(test())


def test_an_authority_that_is_none_is_told() -> None:
    async def test() -> None:
        connection = replace(connection_to(1), authority=FixedText(Hidden("not PEM")))
        async with transport_to(connection) as transport:
            with pytest.raises(AccessError, match="holds no PEM certificate; give the CA certificate"):
                await transport.send(call(), LONG)

    run(test())


def test_what_is_sent_is_what_was_asked_for_and_no_more() -> None:
    async def test() -> None:
        async with raw_server(answer_ok) as server:
            connection = Connection(
                server=f"https://127.0.0.1:{server.port}/clusters/c-1",
                authority=AUTHORITY,
                credentials=StoredCredentials("here", token=FixedText(Hidden("abc"))),
                impersonation=(("Impersonate-User", "bob"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b")),
            )
            async with transport_to(connection, user_agent="tester") as transport:
                query = (("labelSelector", "a in (b,c),d"), ("limit", "5"))
                await transport.send(Call(method="GET", path="/api/a b?#%/system:x", query=query), LONG)
                own = (("X-Of-The-Service", "for it"),)
                await transport.send(
                    Call(method="PATCH", path="/y", body=b"{}", content_type="text/x", headers=own), LONG
                )
            get, patch = server.asked
            assert get.line == (
                "GET /clusters/c-1/api/a%20b%3F%23%25/system:x?labelSelector=a+in+%28b%2Cc%29%2Cd&limit=5 HTTP/1.1"
            )
            assert sorted(get.head.split("\r\n")[1:-2]) == [
                "Accept-Encoding: identity",
                "Accept: application/json",
                "Authorization: Bearer abc",
                f"Host: 127.0.0.1:{server.port}",
                "Impersonate-Group: a",
                "Impersonate-Group: b",
                "Impersonate-User: bob",
                "User-Agent: tester",
            ]
            assert "Content-Type: text/x" in patch.head
            assert "X-Of-The-Service: for it" in patch.head
            assert patch.body == b"{}"

    run(test())


def test_redirects_are_answers_and_cookies_are_not_kept() -> None:
    async def answer(exchange: Exchange) -> bool:
        head = (
            "HTTP/1.1 307 Go\r\nLocation: /elsewhere\r\nSet-Cookie: a=b\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"
        )
        await exchange.say(head.encode())
        return True

    async def test() -> None:
        async with raw_server(answer) as server, transport_to(connection_to(server.port)) as transport:
            for _ in range(2):
                assert await transport.send(call("POST"), LONG) == Reply(307, b"", "7")
            assert [exchange.line for exchange in server.asked] == ["POST /x HTTP/1.1"] * 2
            assert "Cookie" not in server.asked[1].head

    run(test())


def test_connections_are_kept_and_bounded() -> None:
    async def test() -> None:
        async with raw_server(answer_ok) as server:
            async with transport_to(connection_to(server.port), most_requests=3) as transport:
                await asyncio.gather(*(transport.send(call(), LONG) for _ in range(30)))
            assert len(server.asked) == 30
            assert server.connections <= 3

    run(test())


def test_waiting_for_a_connection_in_vain_is_unavailable() -> None:
    async def test() -> None:
        async with raw_server(say_nothing) as server:
            async with transport_to(connection_to(server.port), most_requests=1) as transport:
                first = asyncio.create_task(transport.send(call("POST"), LONG))
                await until(lambda: len(server.asked) == 1)
                with pytest.raises(UnavailableError):
                    await transport.send(call("POST"), SOON)
                first.cancel()
                await asyncio.gather(first, return_exceptions=True)
            assert len(server.asked) == 1

    run(test())


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def opened(transport: HttpsTransport) -> Chunks:
    answer = await transport.open(call(), LONG)
    assert not isinstance(answer, Reply)
    return answer


def test_a_stream_gives_each_piece_as_it_comes_and_ends() -> None:
    got = asyncio.Event()

    async def answer(exchange: Exchange) -> bool:
        await exchange.say(STREAM + chunk(b"one\n"))
        await got.wait()  # the second is not sent before the first was read
        await exchange.say(chunk(b"two\n") + chunk(b""))
        return True

    async def test() -> None:
        async with raw_server(answer) as server, transport_to(connection_to(server.port)) as transport:
            chunks = await opened(transport)
            assert await anext(chunks) == b"one\n"
            got.set()
            assert [data async for data in chunks] == [b"two\n"]
            await chunks.aclose()

    run(test())


def test_a_stream_that_breaks_is_unavailable_not_ended() -> None:
    async def answer(exchange: Exchange) -> bool:
        await exchange.say(STREAM + chunk(b"one\n") + b"9\r\nhal")
        return False

    async def test() -> None:
        async with raw_server(answer) as server, transport_to(connection_to(server.port)) as transport:
            chunks = await opened(transport)
            with pytest.raises(UnavailableError):
                async for _ in chunks:
                    pass
            await chunks.aclose()

    run(test())


@pytest.mark.parametrize("end", ["stream", "transport"])
def test_closing_ends_a_silent_stream_at_once(end: str) -> None:
    closed = asyncio.Event()

    async def answer(exchange: Exchange) -> bool:
        await exchange.say(STREAM)
        try:
            await exchange.until_closed()
        finally:
            closed.set()
        return False

    async def test() -> None:
        async with raw_server(answer) as server, transport_to(connection_to(server.port)) as transport:
            chunks = await opened(transport)
            started = time.monotonic()
            await (chunks.aclose() if end == "stream" else transport.close())
            await closed.wait()
            assert time.monotonic() - started < 5

    run(test())


def test_a_refused_stream_is_a_reply() -> None:
    async def answer(exchange: Exchange) -> bool:
        await exchange.say(b"HTTP/1.1 410 Gone\r\nContent-Length: 2\r\n\r\n{}")
        return True

    async def test() -> None:
        async with raw_server(answer) as server, transport_to(connection_to(server.port)) as transport:
            assert await transport.open(call(), LONG) == Reply(410, b"{}")

    run(test())


def test_a_stream_that_never_begins_is_unavailable() -> None:
    async def test() -> None:
        async with raw_server(say_nothing) as server, transport_to(connection_to(server.port)) as transport:
            with pytest.raises(UnavailableError, match="no answer within"):
                await transport.open(call(), SOON)

    run(test())


def test_a_new_certificate_is_shown_on_a_new_connection() -> None:
    async def test() -> None:
        text = _Changing()
        async with raw_server(answer_ok) as server:
            credentials = StoredCredentials("here", certificate=(text.chain, text.key))
            async with transport_to(replace(connection_to(server.port), credentials=credentials)) as transport:
                for name, connections in (("ann", 1), ("ann", 1), ("bob", 2)):
                    text.become(name)
                    await transport.send(call(), LONG)
                    assert server.connections == connections
                    assert _subject(server) == name

    run(test())


class _Changing:
    """A certificate and key that are replaced."""

    def __init__(self) -> None:
        self.chain, self.key = FixedText(Hidden("")), FixedText(Hidden(""))
        self._name = ""

    def become(self, name: str) -> None:
        if name != self._name:
            self._name = name
            made = build_client_certificate(IDENTITY.authority, name, [], time.time())
            self.chain._text, self.key._text = Hidden(made.certificate), made.key


def _subject(server: RawServer) -> str:
    certificate = server.asked[-1].writer.get_extra_info("peercert")
    return str(dict(part[0] for part in certificate["subject"])["commonName"])


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


@asynccontextmanager
async def proxied(server: RawServer) -> AsyncIterator[tuple[HttpsTransport, list[str]]]:
    """A transport that goes through a proxy, and what the proxy was asked for."""
    wanted: list[str] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0].decode()
        wanted.append(line)
        host, _, port = line.split(" ")[1].rpartition(":")
        inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await asyncio.gather(relay(reader, inner_writer), relay(inner_reader, writer), return_exceptions=True)

    async with listening(proxy) as port:
        connection = replace(connection_to(server.port), proxy=Hidden(f"http://127.0.0.1:{port}"))
        async with transport_to(connection) as transport:
            yield transport, wanted


def test_a_proxy_is_used() -> None:
    async def test() -> None:
        async with raw_server(answer_ok) as server, proxied(server) as (transport, wanted):
            assert (await transport.send(call("POST"), LONG)).status == 200
            assert wanted == [f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"]

    run(test())


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_stream_through_a_proxy_ends_and_breaks_as_any_other(is_whole: bool) -> None:
    async def answer(exchange: Exchange) -> bool:
        await exchange.say(STREAM + chunk(b"one"))
        await exchange.say(chunk(b"two") + (b"0\r\n\r\n" if is_whole else b"5\r\nab"))
        return False

    async def test() -> None:
        async with raw_server(answer) as server, proxied(server) as (transport, _wanted):
            stream: Any = await transport.open(call(), LONG)
            read = bytearray()
            try:
                async for piece in stream:
                    read += piece
                assert is_whole
            except UnavailableError:
                assert not is_whole
            assert read.startswith(b"onetwo")
            await stream.aclose()

    run(test())


def test_a_refused_stream_through_a_proxy_is_a_reply() -> None:
    async def refuse(exchange: Exchange) -> bool:
        await exchange.say(b"HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone")
        return True

    async def test() -> None:
        async with raw_server(refuse) as server, proxied(server) as (transport, _wanted):
            assert await transport.open(call(), LONG) == Reply(410, b"gone")

    run(test())


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_large_body_is_sent_once_and_whole(is_answered: bool) -> None:
    """By the library, which would send a PUT again when a connection breaks that it had kept."""
    body = bytes(SENT_AT_ONCE + 1)

    lengths: list[int] = []

    async def answer(exchange: Exchange) -> bool:
        lengths.append(len(exchange.body))
        return await answer_ok(exchange) if len(lengths) == 1 or is_answered else False

    async def test() -> None:
        async with raw_server(answer) as server, transport_to(connection_to(server.port)) as transport:
            put = Call(method="PUT", path="/x", body=body)
            assert (await transport.send(put, LONG)).status == 200
            if is_answered:
                assert (await transport.send(put, LONG)).status == 200
            else:
                with pytest.raises(AmbiguousError, match="PUT /x"):
                    await transport.send(put, LONG)
            assert lengths == [len(body)] * 2
            assert server.connections == 1

    run(test())


def test_a_proxy_that_refuses_is_unavailable_and_its_password_is_not_shown() -> None:
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
        await reader.read()

    async def test() -> None:
        async with listening(proxy) as port:
            address = Hidden(f"http://ann:canary@127.0.0.1:{port}")
            async with transport_to(replace(connection_to(1), proxy=address)) as transport:
                with pytest.raises(UnavailableError) as raised:
                    await transport.send(call("POST"), LONG)
        assert b"Proxy-Authorization: Basic YW5uOmNhbmFyeQ==\r\n" in asked[0]
        shown = "".join(traceback.format_exception(raised.value))
        assert "407" in shown
        assert "canary" not in shown

    run(test())


def test_names_are_looked_up_once_for_many_requests_and_told() -> None:
    async def test() -> None:
        async with raw_server(answer_ok) as server:
            heard: list[str] = []
            connection = replace(connection_to(server.port), server=f"https://localhost:{server.port}")
            async with transport_to(connection, on_resolve=lambda host, _seconds: heard.append(host)) as transport:
                for _ in range(5):
                    await transport.send(call(), LONG)
            assert heard == ["localhost"]

    run(test())


def test_an_address_needs_no_look_up() -> None:
    async def test() -> None:
        async with raw_server(answer_ok) as server:
            heard: list[str] = []
            async with transport_to(
                connection_to(server.port), on_resolve=lambda host, _seconds: heard.append(host)
            ) as transport:
                await transport.send(call(), LONG)
            assert heard == []

    run(test())


def test_streams_do_not_wait_for_each_other_however_many_there_are() -> None:
    """Nor do requests wait for them."""

    async def answer(exchange: Exchange) -> bool:
        if "watch" not in exchange.line:
            return await answer_ok(exchange)
        await exchange.say(STREAM + chunk(b"begun"))
        return await say_nothing(exchange)

    async def test() -> None:
        watch = Call(method="GET", path="/watch")
        async with (
            raw_server(answer) as server,
            transport_to(connection_to(server.port), most_requests=1) as transport,
        ):
            for _ in range(8):
                stream: Any = await transport.open(watch, LONG)
                assert await anext(stream) == b"begun"
            assert (await transport.send(call(), LONG)).status == 200

    run(test())


def test_a_stream_that_was_read_to_its_end_leaves_its_connection_to_the_next_call() -> None:
    async def answer(exchange: Exchange) -> bool:
        await exchange.say(STREAM + chunk(b"all") + b"0\r\n\r\n")
        return True

    async def test() -> None:
        async with raw_server(answer) as server, transport_to(connection_to(server.port)) as transport:
            for _ in range(3):
                stream: Any = await transport.open(call(), LONG)
                assert [piece async for piece in stream] == [b"all"]
                await stream.aclose()  # as who watches does, whatever came; the connection is the next one's by now
            assert (await transport.send(call(), LONG)).body == b"all"
            assert server.connections == 1

    run(test())


@pytest.mark.parametrize("runner", [asyncio.run, uvloop.run])
def test_who_reads_a_stream_slowly_holds_up_the_server(runner: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    piece, pieces = b"x" * 65536, 2000
    sent: list[int] = []

    async def answer(exchange: Exchange) -> bool:
        await exchange.say(STREAM)
        for number in range(pieces):
            await exchange.say(chunk(piece))
            sent.append(number)
        await exchange.say(b"0\r\n\r\n")
        return True

    async def test() -> None:
        async with raw_server(answer) as server, transport_to(connection_to(server.port)) as transport:
            stream: Any = await transport.open(call(), LONG)
            await until(lambda: stream._body._is_held)
            assert (stream._body._size < 4 * MOST_UNREAD, len(sent) < pieces) == (True, True)
            assert sum([len(each) async for each in stream]) == pieces * len(piece)

    runner(test())


@pytest.mark.parametrize("is_closed", [False, True])
def test_what_came_of_a_stream_is_given_before_its_break(is_closed: bool) -> None:
    async def answer(exchange: Exchange) -> bool:
        await exchange.say(STREAM + chunk(b"one") + chunk(b"two") + (b"" if is_closed else b"no size\r\n"))
        return False

    async def test() -> None:
        async with raw_server(answer) as server, transport_to(connection_to(server.port)) as transport:
            stream: Any = await transport.open(call(), LONG)
            await until(lambda: stream._body._is_over)
            assert await anext(stream) == b"onetwo"
            with pytest.raises(UnavailableError, match="GET /x"):
                await anext(stream)
            assert not transport._open

    run(test())


def test_the_body_of_a_stream_has_no_bound_and_that_of_a_refusal_has() -> None:
    async def answer(exchange: Exchange) -> bool:
        status = b"200 OK" if "good" in exchange.line else b"500 Oh"
        await exchange.say(b"HTTP/1.1 %s\r\nContent-Length: 100\r\n\r\n%s" % (status, b"x" * 100))
        return True

    async def test() -> None:
        async with raw_server(answer) as server, transport_to(connection_to(server.port)) as transport:
            good: Any = await transport.open(Call(method="GET", path="/good", most_bytes=50), LONG)
            assert b"".join([each async for each in good]) == b"x" * 100
            with pytest.raises(UnavailableError, match="more than 50 bytes"):
                await transport.open(Call(method="GET", path="/bad", most_bytes=50), LONG)

    run(test())


def test_the_library_is_not_loaded_for_requests_and_watches() -> None:
    """It takes six megabytes of every process."""
    program = "import sys, heliostat.runtime.process; print('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"False\n"


def test_what_nobody_asked_for_ends_the_connection_without_a_word_of_the_loop() -> None:
    async def test() -> None:
        problems: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: problems.append(context))
        async with raw_server(answer_ok) as server, transport_to(connection_to(server.port)) as transport:
            assert (await transport.send(call(), LONG)).status == 200
            await server.asked[0].say(OK)
            await until(lambda: not transport._kept._idle)
            assert (await transport.send(call(), LONG)).status == 200
            assert server.connections == 2
        assert problems == []

    uvloop.run(test())
