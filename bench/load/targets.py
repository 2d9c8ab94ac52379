"""What the API server benchmarks are run against: our server and a real kube-apiserver with etcd, each a process.

Rules: both are asked over HTTPS with a bearer token; what either costs is read from the system (processor time,
resident memory), so figures of one run can be compared even when the machine is busy with something else.
"""

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).resolve().parents[2]
MAPS = "/api/v1/namespaces/default/configmaps"
_TICKS = os.sysconf("SC_CLK_TCK")

OURS = """
import asyncio, gc, sys, uvloop
from pathlib import Path
from heliostat.kube.hidden import Hidden
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.serving import EmbeddedServer, ServerOptions

async def main():
    token, data = sys.argv[1:]
    user = User("admin", groups=(MASTERS, "system:authenticated"))
    options = ServerOptions(data=Path(data), tokens=((Hidden(token), user),))
    async with EmbeddedServer(options, on_bug=lambda error: print(repr(error), file=sys.stderr)) as server:
        gc.freeze()  # as the command does
        print("ready", server.address, flush=True)
        await asyncio.Event().wait()

uvloop.run(main())
"""


class Target(Struct, frozen=True):
    name: str
    url: str
    token: str
    pids: tuple[int, ...]
    ready_seconds: float

    def call(self, method: str, path: str, body: object = None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        context = ssl._create_unverified_context()  # noqa: S323, SLF001 - loopback, made a moment ago by this script
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:
            content: bytes = answer.read()
            return content

    def memory_mb(self) -> float:
        return sum(memory_mb(pid) for pid in self.pids)

    def processor_seconds(self) -> float:
        """Of all its processes since they began, in user and in kernel mode."""
        return sum(processor_seconds(pid) for pid in self.pids)


def memory_mb(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def environment() -> dict[str, str]:
    """As people have it: a shell that keeps Python from caching bytecode would make every start slow."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@contextmanager
def ours() -> Iterator[Target]:
    with own_process(OURS) as target:
        yield target


@contextmanager
def own_process(program: str, *arguments: str) -> Iterator[Target]:
    """A program that gets a token and a folder, and prints its address as the second word of its first line."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o700)
        token = "bench-" + "x" * 32
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-c", program, token, f"{folder}/data", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment(),
        )
        assert process.stdout is not None
        try:
            url = process.stdout.readline().split()[1]
            yield Target("heliostat", url, token, (process.pid,), time.perf_counter() - start)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


@contextmanager
def real() -> Iterator[Target]:
    sys.path.insert(0, str(ROOT))
    from tools.kubernetes.run import ControlPlane

    before = children()
    start = time.perf_counter()
    with ControlPlane.started() as cluster:
        ready = time.perf_counter() - start
        yield Target("kube-apiserver", cluster.url, cluster.token, tuple(children() - before), ready)


def children() -> set[int]:
    me = os.getpid()
    return set(map(int, Path(f"/proc/{me}/task/{me}/children").read_text().split()))
