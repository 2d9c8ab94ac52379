"""HTTP, TCP and gRPC checks against servers on this machine, good ones and bad ones."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from concurrent import futures
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from embedded.node.pod_shapes import build_pod, container
from heliostat.embedded.node.pods import Probe
from heliostat.embedded.node.probing import http_get
from heliostat.embedded.node.probing.probe_checks import Checked, Target, check
from heliostat.embedded.node.probing.probes import ProbeResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from heliostat.embedded.node.isolating.sandbox import Sandbox

YES, NO, DUNNO = ProbeResult.SUCCESS, ProbeResult.FAILURE, ProbeResult.UNKNOWN
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def connect(address: str, port: int) -> socket.socket:
    made = socket.socket()
    made.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(made, (address, port))
    except BaseException:
        made.close()
        raise
    return made


@asynccontextmanager
async def serving(serve: Serve) -> "AsyncIterator[int]":
    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


def answering(*answers: str, heard: list[str] | None = None) -> Serve:
    """One answer for each connection, in turn; ``heard`` gets the requests."""
    left = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if heard is not None:
            heard.append(request.decode())
        writer.write(left.pop(0).encode())
        await writer.drain()

    return serve


async def silence(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


def ask(serve: Serve, build: Callable[[int], dict[str, Any]], *, ports: tuple[dict[str, Any], ...] = ()) -> Checked:
    """What a probe says of a server; ``build`` makes the probe for its port."""

    async def run() -> Checked:
        async with serving(serve) as port:
            named = [each | {"containerPort": port} for each in ports]
            it = build_pod(container(ports=named)).spec.containers[0]
            nowhere: Sandbox = None  # type: ignore[assignment]  # what the network answers needs none
            probe = msgspec.convert({"timeoutSeconds": 1, **build(port)}, Probe)
            return await check(probe, Target(nowhere, "id", it, "127.0.0.1"), connect)

    return asyncio.run(run())


def http(path: str = "/", **fields: Any) -> Callable[[int], dict[str, Any]]:
    return lambda port: {"httpGet": {"path": path, "port": port, **fields}}


def reply(status: str, *headers: str) -> str:
    return "\r\n".join((f"HTTP/1.1 {status}", *headers, "", "body"))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("200 OK", Checked(YES)),
        ("204 No Content", Checked(YES)),
        ("399 Odd", Checked(YES)),
        ("404 Not Found", Checked(NO, "HTTP probe failed with statuscode: 404")),
        ("500 Oh", Checked(NO, "HTTP probe failed with statuscode: 500")),
    ],
)
def test_the_status_decides(status: str, expected: Checked) -> None:
    assert ask(answering(reply(status)), http()) == expected


def test_the_request_is_that_of_a_kubelet_with_the_pods_own_headers() -> None:
    heard: list[str] = []
    headers = [{"name": "host", "value": "example.org"}, {"name": "X-A", "value": "b"}]
    ask(answering(reply("200 OK"), heard=heard), http("/health?x=1", httpHeaders=headers))
    lines = heard[0].split("\r\n")
    assert lines[0] == "GET /health?x=1 HTTP/1.1"
    assert "Host: example.org" in lines
    assert "X-A: b" in lines
    assert any(line.startswith("User-Agent: kube-probe/") for line in lines)


def test_a_redirect_on_the_same_host_is_followed_and_one_elsewhere_is_an_answer() -> None:
    heard: list[str] = []
    ok = answering(reply("302 Found", "Location: /there"), reply("500 Oh"), heard=heard)
    assert ask(ok, http()).verdict is NO
    assert heard[1].startswith("GET /there ")
    assert ask(answering(reply("302 Found", "Location: http://elsewhere.invalid/")), http()) == Checked(YES)


def test_a_port_may_be_named() -> None:
    web = ({"name": "web"},)
    assert ask(answering(reply("200 OK")), lambda _port: {"httpGet": {"port": "web"}}, ports=web) == Checked(YES)
    checked = ask(answering(reply("200 OK")), lambda _port: {"httpGet": {"port": "other"}}, ports=web)
    assert checked.verdict is DUNNO
    assert "couldn't find port 'other' in container c" in checked.output


@pytest.mark.parametrize(
    ("serve", "output"),
    [
        (silence, "no answer within 1s"),
        (answering(""), "the connection ended before an answer"),
        (answering("SSH-2.0-OpenSSH\r\n\r\n"), "malformed HTTP response 'SSH-2.0-OpenSSH'"),
        (answering("x" * 70_000 + "\r\n\r\n"), "the head of the answer is larger than 65536 bytes"),
    ],
)
def test_what_is_no_answer_is_a_failure_with_its_reason(serve: Serve, output: str) -> None:
    assert ask(serve, http()) == Checked(NO, output)


def test_a_port_where_nobody_listens_refuses() -> None:
    async def nobody(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None: ...

    free = socket.create_server(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    for probe in ({"tcpSocket": {"port": port}}, {"httpGet": {"port": port}}, {"grpc": {"port": port}}):
        assert ask(nobody, lambda _port, probe=probe: probe) == Checked(NO, "connection refused")  # type: ignore[misc]


def test_a_connection_is_all_that_a_tcp_probe_wants() -> None:
    assert ask(silence, lambda port: {"tcpSocket": {"port": port}}) == Checked(YES)


def test_a_probe_without_anything_to_do_is_unknown() -> None:
    assert ask(silence, lambda _port: {}).verdict is DUNNO


def test_where_a_redirect_leads_is_told() -> None:
    async def run() -> http_get.Answered:
        async with serving(answering(reply("301 Moved", "Location: https://other.invalid/x"))) as port:
            return await http_get.get(connect, {"port": port}, build_pod().spec.containers[0], "127.0.0.1")

    assert asyncio.run(run()) == http_get.Answered(301, "https://other.invalid/x")


def test_over_https_nobody_checks_the_certificate(tmp_path: Path) -> None:
    async def run() -> http_get.Answered:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_self_signed(tmp_path / "pair.pem"))
        server = await asyncio.start_server(_secure_reply, "127.0.0.1", 0, ssl=context)
        async with server:
            action = {"port": server.sockets[0].getsockname()[1], "scheme": "HTTPS"}
            return await http_get.get(connect, action, build_pod().spec.containers[0], "127.0.0.1")

    assert asyncio.run(run()) == http_get.Answered(200)


async def _secure_reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await answering(reply("200 OK"))(reader, writer)
    writer.close()


def _self_signed(path: Path) -> Path:
    """A key and a certificate of nobody, in one file."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nobody")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    now = datetime.now(UTC)
    certificate = builder.not_valid_before(now).not_valid_after(now + timedelta(hours=1)).sign(key, SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    return path


# gRPC, against the real library


class Health:
    """Answers by the name of the service, as bytes."""

    def __init__(self, grpc: Any) -> None:
        self._grpc = grpc

    def service(self, details: Any) -> Any:
        if details.method != "/grpc.health.v1.Health/Check":
            return None
        return self._grpc.unary_unary_rpc_method_handler(self._check)

    def _check(self, request: bytes, context: Any) -> bytes:
        answers = {b"": b"\x08\x01", b"\x0a\x03bad": b"\x08\x02", b"\x0a\x04zero": b""}
        if request not in answers:
            context.abort(self._grpc.StatusCode.NOT_FOUND, "unknown service")
        return answers[request]


@pytest.mark.parametrize(
    ("has_health", "service", "expected"),
    [
        (True, "", Checked(YES)),
        (True, "bad", Checked(NO, 'service unhealthy (responded with "NOT_SERVING")')),
        (True, "zero", Checked(NO, 'service unhealthy (responded with "UNKNOWN")')),
        (True, "x" * 300, NO),
        (False, "", NO),
    ],
)
def test_the_health_of_a_grpc_service(has_health: bool, service: str, expected: Checked | ProbeResult) -> None:
    grpc = pytest.importorskip("grpc")
    handlers = (Health(grpc),) if has_health else ()
    server = grpc.server(futures.ThreadPoolExecutor(1), handlers=handlers)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        checked = ask(silence, lambda _port: {"grpc": {"port": port, "service": service}, "timeoutSeconds": 5})
    finally:
        server.stop(None).wait()
    if isinstance(expected, Checked):
        assert checked == expected
    else:
        assert checked.verdict is expected
        assert "does not implement the grpc health protocol" in checked.output


def test_a_server_of_something_else_is_not_healthy() -> None:
    checked = ask(answering(reply("400 Bad Request")), lambda port: {"grpc": {"port": port}})
    assert checked == Checked(NO, "the answer is not HTTP/2")
