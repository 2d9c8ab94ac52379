"""Requests to a RayService at a steady rate from a Pod of its own, and what became of them.

Whatever is no whole answer has failed. One that did not come in time is told apart from one that was cut off or
refused: it may be the machine that had too much to do.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from e2e.clusters import apply
from e2e.load_client import STOP
from e2e.local_machine import LocalMachine, wait_for

RATE = 50
_CLIENT = Path(__file__).with_name("load_client.py")


class Answer(Struct, frozen=True):
    at: float  # epoch seconds at which it was asked
    kind: str
    outcome: str
    told: str
    seconds: float


class Asker:
    """A Pod that asks ``url`` for as long as it is there; ``is_kept`` connections serve one request after another."""

    def __init__(
        self, machine: LocalMachine, url: str, name: str = "asker", *, rate: float = RATE, is_kept: bool = False
    ) -> None:
        self._machine = machine
        self._name = name
        apply(machine, *_build(name, url, rate, is_kept=is_kept))
        machine.kubectl("wait", f"pod/{name}", "--for=condition=Ready", "--timeout=120s")  # before it has no log

    def read(self) -> list[Answer]:
        text = self._machine.kubectl("logs", self._name)
        whole = (line for line in text.split("\n")[:-1] if line.startswith("{"))
        return [Answer(**json.loads(line)) for line in whole]

    def wait_for_answers(self, count: int) -> None:
        """So many of them were good. An API server that is away for a moment is asked again."""
        wait_for(lambda: self._count_good() >= count, 120, every=1.0)

    def _count_good(self) -> int:
        try:
            return sum(each.outcome == "ok" for each in self.read())
        except AssertionError:
            return 0

    def finish(self) -> list[Answer]:
        """All of them, once those on their way are back."""
        self._machine.kubectl("exec", self._name, "--", "touch", str(STOP))
        self._machine.kubectl("wait", f"pod/{self._name}", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=90s")
        return self.read()

    def stop(self) -> None:
        self._machine.kubectl("delete", "pod", self._name, "--wait=false", "--ignore-not-found")
        self._machine.kubectl("delete", "configmap", self._name, "--ignore-not-found")


@contextmanager
def asking(
    machine: LocalMachine, url: str, name: str = "asker", *, rate: float = RATE, is_kept: bool = False
) -> Iterator[Asker]:
    asker = Asker(machine, url, name, rate=rate, is_kept=is_kept)
    try:
        yield asker
    finally:
        asker.stop()


def _build(name: str, url: str, rate: float, *, is_kept: bool) -> tuple[dict[str, object], dict[str, object]]:
    command = ["python", "/code/load_client.py", url, str(rate), *(["kept"] if is_kept else [])]
    container = {
        "name": "asker",
        "image": "python:3.12",
        "command": command,
        "volumeMounts": [{"name": "code", "mountPath": "/code"}],
    }
    code = {"name": "code", "configMap": {"name": name}}
    return (
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {_CLIENT.name: _CLIENT.read_text()},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {
                "containers": [container],
                "volumes": [code],
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 0,
            },
        },
    )


def list_failures(answers: Sequence[Answer]) -> list[Answer]:
    return [each for each in answers if each.outcome != "ok"]


def tell_failures(answers: Sequence[Answer], **moments: float) -> str:
    """When they were, beside moments that may have to do with them."""
    failures = list_failures(answers)
    if not failures:
        return ""
    start = min(moments.values(), default=failures[0].at)
    told = [f"{each.at - start:.1f} s: {each.kind}, {each.outcome}, {each.told}, {each.seconds} s" for each in failures]
    beside = ", ".join(f"{name} at {moment - start:.1f} s" for name, moment in moments.items())
    return "\n".join((f"{len(failures)} of {len(answers)} requests failed; {beside}", *told[:10], "…", *told[-10:]))


def list_late(answers: Sequence[Answer], version: str, since: float) -> list[Answer]:
    """Answers of this version to requests that were made after the moment."""
    return [each for each in answers if each.outcome == "ok" and version in each.told.split() and each.at > since]


def describe(answers: Sequence[Answer], windows: Sequence[tuple[float, float]]) -> str:
    """Counts, and how long answers took while ``windows`` were open and at other times."""
    lines = [f"{len(answers)} requests: {dict(Counter(f'{each.kind}: {each.outcome}' for each in answers))}"]
    inside = [each for each in answers if _is_in(each, windows)]
    outside = [each for each in answers if not _is_in(each, windows)]
    for kind in sorted({each.kind for each in answers}):
        during, quiet = (percentiles(group, kind) for group in (inside, outside))
        lines.append(f"{kind}: p50 and p99 during upgrades {during}, at quiet times {quiet}")
    return "\n".join(lines)


def _is_in(answer: Answer, windows: Sequence[tuple[float, float]]) -> bool:
    return any(begin <= answer.at <= end for begin, end in windows)


def percentiles(answers: Sequence[Answer], kind: str) -> str:
    times = sorted(each.seconds for each in answers if each.kind == kind and each.outcome == "ok")
    if not times:
        return "unknown (no answers)"
    middle, late = (times[min(len(times) - 1, math.ceil(share * len(times)) - 1)] for share in (0.5, 0.99))
    return f"{middle * 1000:.0f} ms and {late * 1000:.0f} ms ({len(times)})"
