"""Names of a cluster: messages that survive the wire, answers as specified, and nothing that breaks the reader."""

import asyncio
import contextlib
import errno
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.gateway.directory import Directory, Endpoint, KnownService, ServicePort
from heliostat.embedded.node.network import dns_message as dns
from heliostat.embedded.node.network.dns_message import Address, Alias, Location, Pointer, RecordData
from heliostat.embedded.node.network.dns_server import DnsServer
from heliostat.embedded.node.network.dns_zone import Zone, look_up

DOMAIN = "cluster.local"
HTTP = ServicePort(80, "http")


def directory() -> Directory:
    made = Directory()
    made.put_service(KnownService(namespace="ns", name="web", address=IPv4Address("10.96.0.7"), ports=(HTTP,)))
    made.put_service(KnownService(namespace="ns", name="head"))
    made.put_service(KnownService(namespace="ns", name="out", external_name="example.org"))
    made.put_endpoints(
        "ns",
        "head",
        "head-1",
        (
            Endpoint(address=IPv4Address("10.244.0.2"), hostname="zero", ports=(ServicePort(6379, "gcs"),)),
            Endpoint(address=IPv4Address("10.244.0.3"), ports=(ServicePort(6379, "gcs"),)),
            Endpoint(address=IPv4Address("10.244.0.4"), is_ready=False),
        ),
    )
    return made


ZONE = Zone(directory(), DOMAIN, (IPv4Network("10.244.0.0/16"), IPv4Network("10.96.0.0/12")))


def ask(name: str, kind: int = dns.A) -> tuple[int, list[RecordData]] | None:
    question = dns.read_question(dns.build_query(1, name, kind))
    found = look_up(question, ZONE)
    return None if found is None else (found.code, [record.data for record in found.records])


def address(text: str) -> Address:
    return Address(IPv4Address(text))


@pytest.mark.parametrize(
    ("name", "kind", "answer"),
    [
        ("web.ns.svc.cluster.local", dns.A, [address("10.96.0.7")]),
        ("WEB.ns.SVC.cluster.local", dns.A, [address("10.96.0.7")]),
        ("web.ns.svc.cluster.local", dns.AAAA, []),
        ("head.ns.svc.cluster.local", dns.A, [address("10.244.0.2"), address("10.244.0.3")]),
        ("zero.head.ns.svc.cluster.local", dns.A, [address("10.244.0.2")]),
        ("10-244-0-3.head.ns.svc.cluster.local", dns.A, [address("10.244.0.3")]),
        ("out.ns.svc.cluster.local", dns.A, [Alias("example.org")]),
        ("_http._tcp.web.ns.svc.cluster.local", dns.SRV, [Location(80, "web.ns.svc.cluster.local")]),
        (
            "_gcs._tcp.head.ns.svc.cluster.local",
            dns.SRV,
            [
                Location(6379, "zero.head.ns.svc.cluster.local"),
                Location(6379, "10-244-0-3.head.ns.svc.cluster.local"),
            ],
        ),
        ("10-244-0-9.ns.pod.cluster.local", dns.A, [address("10.244.0.9")]),
        ("7.0.96.10.in-addr.arpa", dns.PTR, [Pointer("web.ns.svc.cluster.local")]),
        ("2.0.244.10.in-addr.arpa", dns.PTR, [Pointer("zero.head.ns.svc.cluster.local")]),
        ("3.0.244.10.in-addr.arpa", dns.PTR, [Pointer("10-244-0-3.head.ns.svc.cluster.local")]),
        ("ns.svc.cluster.local", dns.A, []),
    ],
)
def test_names_of_the_cluster(name: str, kind: int, answer: list[RecordData]) -> None:
    assert ask(name, kind) == (dns.NO_ERROR, answer)


@pytest.mark.parametrize(
    "name",
    [
        "none.ns.svc.cluster.local",
        "web.elsewhere.svc.cluster.local",
        "one.web.ns.svc.cluster.local",
        "nobody.head.ns.svc.cluster.local",
        "_nothing._tcp.web.ns.svc.cluster.local",
        "300-1-1-1.ns.pod.cluster.local",
        "a.b.c.d.e.f.cluster.local",
        "4.0.244.10.in-addr.arpa",  # not ready
        "77.0.244.10.in-addr.arpa",  # a Pod without a service: the host's resolvers must not hear of it
        "77.0.96.10.in-addr.arpa",
    ],
)
def test_names_that_do_not_exist(name: str) -> None:
    assert ask(name) == (dns.NO_SUCH_NAME, [])


@pytest.mark.parametrize("name", ["example.org", "cluster.local.example.org", "1.1.1.1.in-addr.arpa"])
def test_other_names_are_for_somebody_else(name: str) -> None:
    assert ask(name, dns.PTR) is None


@given(st.binary(max_size=600))
def test_no_bytes_break_the_reader(message: bytes) -> None:
    try:
        question = dns.read_question(message)
    except dns.DnsError:
        dns.build_failure(message, dns.FORMAT_ERROR)
    else:
        look_up(question, ZONE)


_LABEL = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=20)


@given(st.lists(_LABEL, min_size=1, max_size=8), st.integers(0, 65535), st.sampled_from([dns.A, dns.SRV, dns.PTR]))
def test_a_query_reads_as_it_was_written(labels: list[str], id_: int, kind: int) -> None:
    question = dns.read_question(dns.build_query(id_, ".".join(labels), kind))
    assert (question.id, question.name, question.type) == (id_, ".".join(labels), kind)


def test_a_name_that_points_at_itself_is_refused() -> None:
    message = struct.pack("!HHHHHH", 1, 0, 1, 0, 0, 0) + b"\xc0\x0c" + struct.pack("!HH", 1, 1)
    with pytest.raises(dns.DnsError, match="leads nowhere"):
        dns.read_question(message)


def many() -> Directory:
    made = Directory()
    made.put_service(KnownService(namespace="ns", name="big"))
    made.put_endpoints(
        "ns", "big", "s", [Endpoint(address=IPv4Address("10.244.1.0") + number) for number in range(100)]
    )
    return made


def test_what_does_not_fit_a_datagram_is_fetched_by_tcp() -> None:
    async def play() -> None:
        with (
            socket.create_server(("127.0.0.1", 0)) as listener,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        ):
            listener.setblocking(False)
            datagrams.setblocking(False)
            datagrams.bind(("127.0.0.1", 0))
            serving = asyncio.create_task(DnsServer(Zone(many(), DOMAIN), ()).run(datagrams, listener))
            try:
                async with asyncio.timeout(20):
                    query = dns.build_query(7, "big.ns.svc.cluster.local", dns.A)
                    assert await _by_datagram(datagrams.getsockname(), query) == (7, True, 0)
                    assert await _by_stream(listener.getsockname(), query) == (7, False, 100)
            finally:
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(play())


def _header(answer: bytes) -> tuple[int, bool, int]:
    id_, flags, _questions, answers = struct.unpack_from("!HHHH", answer)
    return id_, bool(flags & 0x0200), answers


async def _by_datagram(server: tuple[str, int], query: bytes) -> tuple[int, bool, int]:
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.setblocking(False)
        await loop.sock_connect(asking, server)
        await loop.sock_sendall(asking, query)
        return _header(await loop.sock_recv(asking, 4096))


async def _by_stream(server: tuple[str, int], query: bytes) -> tuple[int, bool, int]:
    reader, writer = await asyncio.open_connection(*server)
    writer.write(struct.pack("!H", len(query)) + query)
    (size,) = struct.unpack("!H", await reader.readexactly(2))
    answer = await reader.readexactly(size)
    writer.close()
    await writer.wait_closed()
    return _header(answer)


def test_what_is_not_ours_is_asked_of_the_host_and_silence_is_a_failure() -> None:
    async def play() -> None:
        query = dns.build_query(9, "example.org", dns.A)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as upstream:
            upstream.setblocking(False)
            upstream.bind(("127.0.0.1", 0))
            server = DnsServer(Zone(Directory(), DOMAIN), [upstream.getsockname()])
            asked = asyncio.create_task(server.answer(query, is_datagram=True))
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(20):
                message, sender = await loop.sock_recvfrom(upstream, 512)
                assert message == query
                await loop.sock_sendto(upstream, message[:2] + b"the answer", sender)
                assert await asked == message[:2] + b"the answer"
        nobody = await DnsServer(Zone(Directory(), DOMAIN), ()).answer(query, is_datagram=True)
        assert struct.unpack_from("!H", nobody, 2)[0] & 0xF == dns.SERVER_FAILURE

    asyncio.run(play())


@asynccontextmanager
async def serving(zone: Zone) -> AsyncIterator[tuple[tuple[str, int], tuple[str, int]]]:
    """Where it hears datagrams, and where streams."""
    with (
        socket.create_server(("127.0.0.1", 0), backlog=512) as listener,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        listener.setblocking(False)
        datagrams.setblocking(False)
        datagrams.bind(("127.0.0.1", 0))
        task = asyncio.create_task(DnsServer(zone, ()).run(datagrams, listener))
        try:
            async with asyncio.timeout(20):
                yield datagrams.getsockname(), listener.getsockname()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def test_idle_connections_silence_nobody() -> None:
    async def play() -> None:
        query = dns.build_query(7, "big.ns.svc.cluster.local", dns.A)
        async with serving(Zone(many(), DOMAIN)) as (by_datagram, by_stream):
            idle = [await asyncio.open_connection(*by_stream) for _ in range(300)]
            assert (await _by_datagram(by_datagram, query))[0] == 7
            assert await _by_stream(by_stream, query) == (7, False, 100)
            for _, writer in idle:
                writer.close()

    asyncio.run(play())


def test_one_failed_accept_is_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        loop, failures = asyncio.get_running_loop(), [errno.EMFILE, errno.ECONNABORTED, errno.ENFILE]
        accept = loop.sock_accept

        async def failing(listener: socket.socket) -> tuple[socket.socket, Any]:
            if failures:
                raise OSError(failures.pop(), "no connection this time")
            return await accept(listener)

        monkeypatch.setattr(loop, "sock_accept", failing)
        query = dns.build_query(7, "big.ns.svc.cluster.local", dns.A)
        async with serving(Zone(many(), DOMAIN)) as (_, by_stream):
            assert await _by_stream(by_stream, query) == (7, False, 100)
        assert failures == []

    asyncio.run(play())


def _build_record(name: str, kind: int, data: bytes) -> bytes:
    return dns.build_name(name) + struct.pack("!HHIH", kind, dns.INTERNET, 60, len(data)) + data


async def _answer_as_a_resolver(upstream: socket.socket) -> None:
    """An alias of its own, and behind it an address."""
    loop = asyncio.get_running_loop()
    message, sender = await loop.sock_recvfrom(upstream, 512)
    question = dns.read_question(message)
    assert question.name == "example.org"
    records = _build_record("example.org", dns.CNAME, dns.build_name("www.example.org"))
    records += _build_record("www.example.org", dns.A, IPv4Address("203.0.113.9").packed)
    head = struct.pack("!HHHHHH", question.id, 0x8180, 1, 2, 0, 0)
    await loop.sock_sendto(upstream, head + question.raw + records, sender)


def test_an_external_name_resolves_to_an_address() -> None:
    async def play() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as upstream:
            upstream.setblocking(False)
            upstream.bind(("127.0.0.1", 0))
            server = DnsServer(ZONE, [upstream.getsockname()])
            resolver = asyncio.create_task(_answer_as_a_resolver(upstream))
            async with asyncio.timeout(20):
                answer = await server.answer(dns.build_query(3, "out.ns.svc.cluster.local", dns.A), is_datagram=True)
                await resolver
        code, records = dns.read_answer(answer)
        assert code == dns.NO_ERROR
        assert [(record.name, record.data) for record in records] == [
            ("out.ns.svc.cluster.local", Alias("example.org")),
            ("example.org", Alias("www.example.org")),
            ("www.example.org", address("203.0.113.9")),
        ]

    asyncio.run(play())


def test_an_external_name_may_be_a_service_of_the_cluster_and_circles_end() -> None:
    made = directory()
    made.put_service(KnownService(namespace="ns", name="near", external_name="WEB.ns.svc.cluster.local."))
    made.put_service(KnownService(namespace="ns", name="round", external_name="round.ns.svc.cluster.local"))

    async def ask_for(name: str) -> list[RecordData]:
        server = DnsServer(Zone(made, DOMAIN), ())
        query = dns.build_query(3, f"{name}.ns.svc.cluster.local", dns.A)
        return [record.data for record in dns.read_answer(await server.answer(query, is_datagram=False))[1]]

    assert asyncio.run(ask_for("near"))[-1] == address("10.96.0.7")
    assert set(asyncio.run(ask_for("round"))) == {Alias("round.ns.svc.cluster.local")}


@given(st.binary(max_size=600))
def test_no_bytes_break_the_reader_of_answers(message: bytes) -> None:
    with contextlib.suppress(dns.DnsError):
        dns.read_answer(message)
