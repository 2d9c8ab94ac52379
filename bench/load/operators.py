"""The operator as a process of its own against a target, and what it costs: processor, memory, writes, looks.

Processor and memory are the system's figures; writes and looks are what the operator itself tells at ``/metrics``.
"""

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from load.targets import ROOT, Target, environment, memory_mb, processor_seconds

_SAMPLE = re.compile(r"^(\w+)\{(.*)\} ([0-9.e+]+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_REQUESTS = "heliostat_requests_total"
_WATCHED = {"verb": "watch", "resource": "rayclusters.ray.io"}
_LOOKS = "controller_runtime_reconcile_total"
_WRITES = ("create", "patch", "update", "delete")
_QUIET_SECONDS, _SAMPLE_SECONDS = 2.5, 0.25
_QUIET_SAMPLES = round(_QUIET_SECONDS / _SAMPLE_SECONDS)
_QUIET_SHARE = 0.03  # of a processor
LIMIT_SECONDS = 300.0


class Tally(Struct, frozen=True):
    """What the operator has done so far, or between two moments."""

    looks: int
    writes: Counter[tuple[str, str]]  # requests, by verb and resource

    def __sub__(self, before: "Tally") -> "Tally":
        return Tally(self.looks - before.looks, self.writes - before.writes)

    @property
    def all_writes(self) -> int:
        return self.writes.total()


class Operator(Struct, frozen=True):
    pid: int
    metrics_url: str

    def processor_seconds(self) -> float:
        return processor_seconds(self.pid)

    def memory_mb(self) -> float:
        return memory_mb(self.pid)

    def is_working(self) -> bool:
        """It watches RayClusters. Before that it lets writes of one that was killed land."""
        samples = self._samples()
        return any(name == _REQUESTS and _WATCHED.items() <= labels.items() for name, labels, _value in samples)

    def tally(self) -> Tally:
        samples = self._samples()
        looks = sum(value for name, _labels, value in samples if name == _LOOKS)
        writes: Counter[tuple[str, str]] = Counter()
        for name, labels, value in samples:
            if name == _REQUESTS and labels["verb"] in _WRITES:
                writes[labels["verb"], labels["resource"]] += int(value)
        return Tally(int(looks), writes)

    def _samples(self) -> list[tuple[str, dict[str, str], float]]:
        with urllib.request.urlopen(self.metrics_url, timeout=30) as answer:
            return list(_read_samples(answer.read().decode()))

    def wait_for_looks(self, count: int) -> None:
        """Until it has looked so often, and then has nothing more to do."""
        _wait(lambda: self.tally().looks >= count, f"the operator has not looked {count} times")
        self.wait_until_quiet()

    def wait_until_quiet(self) -> None:
        """By its processor alone: being asked for metrics would be work as well."""
        before = [self.processor_seconds()] * _QUIET_SAMPLES

        def is_quiet() -> bool:
            time.sleep(_SAMPLE_SECONDS)
            before.append(self.processor_seconds())
            return before[-1] - before[-1 - _QUIET_SAMPLES] <= _QUIET_SHARE * _QUIET_SECONDS

        time.sleep(_QUIET_SECONDS)
        _wait(is_quiet, "the operator was not quiet")


def _wait(test: Callable[[], bool], problem: str) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not test():
        if time.monotonic() > deadline:
            raise SystemExit(f"{problem} within {LIMIT_SECONDS:.0f} s")
        time.sleep(0.1)


def _read_samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    for found in _SAMPLE.finditer(text):
        yield found[1], dict(_LABEL.findall(found[2])), float(found[3])


@contextmanager
def started(target: Target, *, arguments: Sequence[str] = (), **variables: str) -> Iterator[Operator]:
    """``arguments`` beyond the usual, ``variables`` of its environment. It is ended at the end."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        kubeconfig.write_text(json.dumps(_build_kubeconfig(target)))
        process = subprocess.Popen(
            [*_command(), f"--kubeconfig={kubeconfig}", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**environment(), **variables},
        )
        assert process.stdout is not None
        try:
            operator = Operator(process.pid, _read_address(process.stdout.readline()))
            _wait(operator.is_working, "the operator has not begun")
            yield operator
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def _command() -> list[str]:
    program = [sys.executable, "-m", "heliostat.cli", "operator"]
    addresses = ["--metrics-addr=127.0.0.1:0", "--health-probe-bind-address=0"]
    return [*program, *addresses, "--enable-leader-election=false", "--zap-log-level=error"]


def _read_address(line: str) -> str:
    found = re.search(r"https?://\S+", line)
    if found is None:
        raise SystemExit(f"the operator did not say where its metrics are: {line!r}")
    return found[0].removesuffix("/metrics") + "/metrics"


def _build_kubeconfig(target: Target) -> dict[str, object]:
    cluster = {"server": target.url, "insecure-skip-tls-verify": True}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bench", "cluster": cluster}],
        "users": [{"name": "bench", "user": {"token": target.token}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        "current-context": "bench",
    }
