"""Real handshakes over loopback: who gets in, who does not, and rotation without a restart."""

import asyncio
import functools
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from heliostat.embedded.access.certificates import (
    DAY,
    Credential,
    build_authority,
    build_client_certificate,
    build_server_certificate,
    read_certificate,
)
from heliostat.embedded.access.client_certificates import read_client_certificate
from heliostat.embedded.access.tls import build_client_context, build_server_context, install_credential

NOW = time.time()  # the ssl module asks the system's clock
AUTHORITY = build_authority(NOW - 60 * DAY)
FOREIGN = build_authority(NOW)
SERVER = build_server_certificate(AUTHORITY, NOW)
ANN = build_client_certificate(AUTHORITY, "ann", ["ops"], NOW)


def in_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: object, **kwargs: object) -> None:
        async def within_time() -> None:
            await asyncio.wait_for(test(*args, **kwargs), 30)

        asyncio.run(within_time())

    return run


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a line with the name in the peer's certificate."""
    try:
        await reader.readline()
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        name = read_client_certificate(der).common_name if der else "nobody"
        writer.write(f"{name}\n".encode())
        await writer.drain()
    except OSError:
        pass  # the handshake failed, which the client's side of the test sees
    finally:
        writer.close()


@asynccontextmanager
async def serving(context: ssl.SSLContext) -> AsyncIterator[int]:
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)  # failed handshakes are the point
    server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def call(port: int, context: ssl.SSLContext, name: str = "localhost") -> str:
    """What the server calls us. In TLS 1.3 a refused client learns of it with the first read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    try:
        writer.write(b"hello\n")
        line = await reader.readline()
        if not line:
            raise ConnectionResetError("closed without an answer")
        return line.decode().strip()
    finally:
        writer.close()


async def call_own_server(client: Credential | None, **changes: ssl.TLSVersion) -> str:
    context = build_client_context(AUTHORITY.certificate, client)
    for field, value in changes.items():
        setattr(context, field, value)
    async with serving(build_server_context(SERVER, AUTHORITY.certificate)) as port:
        return await call(port, context)


@in_loop
async def test_a_client_with_our_certificate_is_known_by_name() -> None:
    assert await call_own_server(ANN) == "ann"


@in_loop
async def test_a_client_may_come_without_a_certificate() -> None:
    assert await call_own_server(None) == "nobody"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@in_loop
async def test_both_modern_versions_are_spoken(version: ssl.TLSVersion) -> None:
    assert await call_own_server(ANN, maximum_version=version, minimum_version=version) == "ann"


INTRUDERS = {
    "signed by another authority": build_client_certificate(FOREIGN, "ann", ["system:masters"], NOW),
    "expired": build_client_certificate(AUTHORITY, "ann", [], NOW - 40 * DAY, life=DAY),
    "not valid yet": build_client_certificate(AUTHORITY, "ann", [], NOW + 10 * DAY, life=DAY),
    "a server's certificate": build_server_certificate(AUTHORITY, NOW),
    "signed by a client's key": build_client_certificate(
        Credential(AUTHORITY.certificate, ANN.key), "ann", ["system:masters"], NOW
    ),
    "signed below a client's certificate": build_client_certificate(ANN, "root", ["system:masters"], NOW),
}


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("intruder", INTRUDERS)
@in_loop
async def test_other_certificates_end_the_handshake(intruder: str, version: ssl.TLSVersion) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await call_own_server(INTRUDERS[intruder], maximum_version=version, minimum_version=version)


def allow_old_versions(context: ssl.SSLContext) -> ssl.SSLContext:
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    return context


@in_loop
async def test_old_versions_are_not_spoken() -> None:
    client = allow_old_versions(build_client_context(AUTHORITY.certificate))
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        client.maximum_version = ssl.TLSVersion.TLSv1_1
    async with serving(build_server_context(SERVER, AUTHORITY.certificate)) as port:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await call(port, client)
    # The same client is not too old in itself: a server that allows it answers.
    async with serving(allow_old_versions(build_server_context(SERVER, AUTHORITY.certificate))) as port:
        assert await call(port, client) == "nobody"


@pytest.mark.parametrize(
    "name", ["localhost", "127.0.0.1", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "10.96.0.1"]
)
@in_loop
async def test_the_server_proves_every_name_it_has(name: str) -> None:
    async with serving(build_server_context(SERVER, AUTHORITY.certificate)) as port:
        assert await call(port, build_client_context(AUTHORITY.certificate, ANN), name) == "ann"


@pytest.mark.parametrize("name", ["evil.example", "10.96.0.2", "svc.cluster.local"])
@in_loop
async def test_clients_refuse_a_name_the_server_does_not_have(name: str) -> None:
    async with serving(build_server_context(SERVER, AUTHORITY.certificate)) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await call(port, build_client_context(AUTHORITY.certificate), name)


@in_loop
async def test_clients_refuse_a_server_of_another_authority() -> None:
    async with serving(build_server_context(SERVER, AUTHORITY.certificate)) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await call(port, build_client_context(FOREIGN.certificate))


@in_loop
async def test_a_new_certificate_counts_from_the_next_handshake_on() -> None:
    context = build_server_context(SERVER, AUTHORITY.certificate)
    client = build_client_context(AUTHORITY.certificate, ANN)
    async with serving(context) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname="localhost")
        fresh = build_server_certificate(AUTHORITY, NOW, ["box.example"])
        install_credential(context, fresh)
        assert await call(port, client, "box.example") == "ann"
        writer.write(b"hello\n")  # the connection of before goes on
        assert await reader.readline() == b"ann\n"
        writer.close()


@in_loop
async def test_the_standard_library_trusts_our_chain_in_its_strictest_mode() -> None:
    context = ssl.create_default_context(cadata=AUTHORITY.certificate)
    context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    async with serving(build_server_context(SERVER, AUTHORITY.certificate)) as port:
        assert await call(port, context) == "nobody"


def test_the_certificate_of_the_context_is_the_one_installed() -> None:
    assert read_certificate(SERVER.certificate).issuer == read_certificate(AUTHORITY.certificate).subject
    context = build_server_context(SERVER, AUTHORITY.certificate)
    assert context.verify_mode is ssl.CERT_OPTIONAL
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
