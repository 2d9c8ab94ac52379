"""What the local gateway costs: requests per second of one core, and what it adds to a direct connection.

Three processes: a back end that answers 64 bytes, the gateway's data plane with one route to it, and whoever asks.
Latencies are measured alternately, one request direct and one through the gateway, on two connections that stay open.
Throughput is asked for by ``wrk`` where it is installed, else by connections of our own; since others may want the
same cores, what counts is the gateway's processor time for each request. The bars: at most 1.5 ms added at the median,
at least 2,000 requests for each second of processor time.
"""

import asyncio
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path

import msgspec

from heliostat.embedded.gateway.attaching import attach
from heliostat.embedded.gateway.directory import Directory, Endpoint, KnownService, ServicePort
from heliostat.embedded.gateway.listening import Listening, Place
from heliostat.embedded.gateway.objects import Gateway, HttpRoute
from heliostat.embedded.gateway.routing import build_tables
from heliostat.embedded.gateway.switchboard import Switchboard
from heliostat.embedded.gateway.telemetry import Telemetry
from heliostat.embedded.gateway.upstreams import Upstreams
from heliostat.kube.objects import Key
from heliostat.runtime.metrics import Registry

HOST = "127.0.0.1"
PAIRS = 4_000
SECONDS = 6.0
CONNECTIONS = 16
MOST_ADDED_MS, LEAST_PER_SECOND = 1.5, 2_000
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 64\r\n\r\n" + b"x" * 64
REQUEST = b"GET /a/path HTTP/1.1\r\nHost: bench.example\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"


class Backend(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._transport.write(ANSWER * data.count(b"\r\n\r\n"))


async def serve_backend() -> None:
    server = await asyncio.get_running_loop().create_server(Backend, HOST, 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def serve_gateway(port: int) -> None:
    directory = Directory()
    directory.put_service(KnownService(namespace="ns", name="one", ports=(ServicePort(80, "http"),)))
    there = Endpoint(address=IPv4Address(HOST), ports=(ServicePort(port, "http"),))
    directory.put_endpoints("ns", "one", "one", [there])
    metadata = {"namespace": "ns", "name": "web"}
    gateway = msgspec.convert({"metadata": metadata, "spec": {"listeners": [{"name": "http", "port": 80}]}}, Gateway)
    rules = [{"backendRefs": [{"name": "one", "port": 80, "weight": 9}, {"name": "one", "port": 80, "weight": 1}]}]
    route = msgspec.convert(
        {"metadata": metadata, "spec": {"parentRefs": [{"name": "web"}], "rules": rules}}, HttpRoute
    )
    key, place = Key("ns", "web"), Place(HOST, 0)
    attached = [(route, each) for each in attach(route, {key: gateway}.get, lambda _: {})]
    tables = build_tables(attached, {key: [(80, "")]}, directory.find)
    board = Switchboard(directory, Upstreams(_dial), Telemetry(Registry()))
    board.use(tables)
    listening = Listening(board, _listen, _listen, drain_seconds=1.0)
    await listening.use({place: tables[key][80]})
    print(listening.ports[place], flush=True)
    await asyncio.Event().wait()


async def _listen(address: str, port: int) -> socket.socket:
    return socket.create_server((address, port), backlog=256)


async def _dial(address: str, port: int) -> socket.socket:
    made = socket.socket()
    made.setblocking(False)
    await asyncio.get_running_loop().sock_connect(made, (address, port))
    return made


@contextmanager
def child(*arguments: str) -> Iterator[tuple[int, int]]:
    """Its process and the port that it prints."""
    process = subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.pid, int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(connection: socket.socket) -> float:
    start = time.perf_counter()
    connection.sendall(REQUEST)
    data = b""
    while not data.endswith(b"x" * 64):
        data += connection.recv(65536)
    return time.perf_counter() - start


def measure_latencies(direct: int, through: int) -> list[tuple[float, float]]:
    with socket.create_connection((HOST, direct)) as one, socket.create_connection((HOST, through)) as other:
        for connection in (one, other):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ask(connection)
        return [(ask(one), ask(other)) for _ in range(PAIRS)]


async def ask_for_a_while(port: int) -> int:
    """Requests answered on connections of our own."""
    ends, answered = time.perf_counter() + SECONDS, [0]

    async def keep_asking() -> None:
        reader, writer = await asyncio.open_connection(HOST, port)
        while time.perf_counter() < ends:
            writer.write(REQUEST)
            await reader.readuntil(b"x" * 64)
            answered[0] += 1
        writer.close()

    await asyncio.gather(*(keep_asking() for _ in range(CONNECTIONS)))
    return answered[0]


def load(port: int) -> tuple[int, str]:
    wrk = shutil.which("wrk")
    if wrk is None:
        return asyncio.run(ask_for_a_while(port)), "our own client"
    command = [wrk, "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS:g}s", f"http://{HOST}:{port}/a/path"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found, failed = re.search(r"(\d+) requests in", said), re.search(r"Non-2xx.*|Socket errors.*", said)
    if found is None or failed is not None:
        raise SystemExit(f"wrk: {said}")
    return int(found[1]), "wrk"


def show(name: str, seconds: list[float]) -> None:
    cuts = statistics.quantiles(seconds, n=100)
    print(f"{name:22} p50 {cuts[49] * 1e3:6.3f} ms  p99 {cuts[98] * 1e3:6.3f} ms")


def main() -> int:
    with child("backend") as (_, direct), child("gateway", str(direct)) as (pid, through):
        pairs = measure_latencies(direct, through)
        before = processor_seconds(pid)
        answered, by = load(through)
        spent = processor_seconds(pid) - before
    one, other = (list(column) for column in zip(*pairs, strict=True))
    show("direct", one)
    show("through the gateway", other)
    added = (statistics.median(other) - statistics.median(one)) * 1e3
    tail = (statistics.quantiles(other, n=100)[98] - statistics.quantiles(one, n=100)[98]) * 1e3
    per_core = answered / spent
    print(f"added                  p50 {added:6.3f} ms  p99 {tail:6.3f} ms  (bar {MOST_ADDED_MS} ms at the median)")
    print(f"{by}, {CONNECTIONS} connections: {answered / SECONDS:,.0f} requests/s")
    print(f"of one core: {per_core:,.0f} requests/s ({1e6 / per_core:.0f} µs each, bar {LEAST_PER_SECOND:,})")
    return 0 if added <= MOST_ADDED_MS and per_core >= LEAST_PER_SECOND else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["backend"]:
        asyncio.run(serve_backend())
    elif sys.argv[1:2] == ["gateway"]:
        asyncio.run(serve_gateway(int(sys.argv[2])))
    else:
        sys.exit(main())
