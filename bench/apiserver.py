"""The embedded API server against a real kube-apiserver with etcd, both on this machine, in the same run.

wrk with 16 connections over TLS, HTTP/1.1, no compression: creates of a 2 kB ConfigMap, creates of a RayCluster
(CRD validation), gets, lists of 500 objects of 2 kB; then time to ready and memory at rest with the ray.io CRDs.
Without the real binaries (tools/kubernetes/build.py) or without wrk it says so and measures what it can. Bars:
creates 1x, CRD creates 1.5x, gets 1x, lists 5x.
"""

import argparse
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
from shutil import which

from msgspec import Struct

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

SECONDS = 8
CONNECTIONS = 16
MAPS = "/api/v1/namespaces/default/configmaps"
CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

OURS = """
import asyncio, sys, uvloop
from pathlib import Path
from heliostat.embedded.access.hidden import Hidden
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.serving import EmbeddedServer, ServerOptions

async def main():
    token, data = sys.argv[1:]
    user = User("admin", groups=(MASTERS, "system:authenticated"))
    options = ServerOptions(data=Path(data), tokens=((Hidden(token), user),))
    async with EmbeddedServer(options, on_bug=lambda error: print(repr(error), file=sys.stderr)) as server:
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
        return sum(_resident_kb(pid) for pid in self.pids) / 1024


def _resident_kb(pid: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0


@contextmanager
def ours() -> Iterator[Target]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o700)
        token = "bench-" + "x" * 32
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-c", OURS, token, f"{folder}/data"], stdout=subprocess.PIPE, text=True, cwd=ROOT
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
    from tools.kubernetes.run import ControlPlane

    start = time.perf_counter()
    with ControlPlane.started() as cluster:
        ready = time.perf_counter() - start
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
        yield Target("kube-apiserver", cluster.url, cluster.token, tuple(map(int, children)), ready)


def wrk(target: Target, path: str, script: str = "") -> float:
    """Requests per second; a reply that is no success ends the benchmark."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as lua:
        lua.write(script)
        lua.flush()
        command = [
            "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-H", f"Authorization: Bearer {target.token}",
            *(["-s", lua.name] if script else []), target.url + path,
        ]  # fmt: skip
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in output:
        raise SystemExit(f"{target.name} refused requests:\n{output}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    assert rate is not None, output
    return float(rate[1])


def creates(target: Target, path: str, tree: dict[str, object], prefix: str) -> float:
    """Each request has a name of its own."""
    body = json.dumps({**tree, "metadata": {"name": "NAME"}}).replace("\\", "\\\\").replace("'", "\\'")
    script = f"""
local n = 0
local body = '{body}'
request = function()
  n = n + 1
  local headers = {{ ["Content-Type"] = "application/json", ["Authorization"] = "Bearer {target.token}" }}
  return wrk.format("POST", nil, headers, (body:gsub("NAME", "{prefix}" .. n)))
end
"""
    return wrk(target, path, script)


def config_map() -> dict[str, object]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "data": {"payload": "x" * 1900}}


def measure(target: Target) -> dict[str, float]:
    from heliostat.api.crds import all_crds
    from heliostat.kube.documents import read_documents

    for crd in all_crds():
        target.call("POST", CRDS, crd)
    _wait_served(target)
    time.sleep(2)  # at rest: the memory figure is taken when nothing runs
    figures = {"ready, s": target.ready_seconds, "memory with the ray.io CRDs, MB": target.memory_mb()}
    figures["ConfigMap creates/s"] = creates(target, MAPS, config_map(), "bench-")
    cluster = read_documents((ROOT / "examples" / "raycluster.yaml").read_bytes())[0].tree
    figures["RayCluster creates/s"] = creates(target, CLUSTERS, cluster, "rc-")
    target.call("POST", MAPS, {**config_map(), "metadata": {"name": "one"}})
    figures["gets/s"] = wrk(target, f"{MAPS}/one")
    figures["lists of 500/s"] = wrk(target, f"{MAPS}?limit=500")
    return figures


def _wait_served(target: Target) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            target.call("GET", CLUSTERS)
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"{target.name} does not serve RayClusters")


BARS = {"ConfigMap creates/s": 1.0, "RayCluster creates/s": 1.5, "gets/s": 1.0, "lists of 500/s": 5.0}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alone", action="store_true", help="do not start the real kube-apiserver")
    options = parser.parse_args()
    if which("wrk") is None:
        print("wrk is not installed (Debian's package wrk): nothing measured")
        return 0
    with ours() as target:
        mine = measure(target)
    theirs: dict[str, float] = {}
    if not options.alone:
        try:
            with real() as target:
                theirs = measure(target)
        except Exception as error:  # noqa: BLE001 - whatever keeps the real one from running is told, not hidden
            print(f"no real kube-apiserver to compare with: {error}")
    failed = False
    for name, figure in mine.items():
        other = theirs.get(name)
        ratio = f"{other:>10,.1f}  {figure / other:6.2f}x" if other else ""
        failed |= bool(other) and figure / (other or 1) < BARS.get(name, 0)
        print(f"{name:<34} {figure:>10,.1f}  {ratio}  {f'(bar {BARS[name]}x)' if name in BARS else ''}".rstrip())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
