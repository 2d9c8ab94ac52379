"""``get --all`` and ``explain`` of objects that are gone, with a server and without one."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from cli.typed_commands import Commands
from heliostat.embedded.history.ledger import Ledger, Version, read_gone
from heliostat.embedded.history.recorder import LEDGER, HistoryOptions
from heliostat.embedded.serving import ServerOptions
from heliostat.embedded.storage.keys import Key
from heliostat.kube.jsontree import JsonObject
from heliostat.testing import api_server_in_thread


def build_object(kind: str, name: str, state: str, labels: dict[str, str] | None = None) -> JsonObject:
    metadata = {"name": name, "namespace": "default", "creationTimestamp": "1970-01-01T00:00:00Z"}
    group = {"RayCluster": "ray.io/v1"}.get(kind, "v1")
    tree: dict[str, Any] = {"apiVersion": group, "kind": kind, "metadata": metadata, "status": {"phase": state}}
    return tree | {"metadata": metadata | ({"labels": labels} if labels else {})}


@pytest.fixture
def without_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    """What a local cluster that is down has left."""
    (tmp_path / "node").mkdir()
    ledger = Ledger(tmp_path / "history" / LEDGER)
    lives = (
        ("rayclusters.ray.io", build_object("RayCluster", "demo", "ready", {"team": "a"}), 60.0),
        ("pods", build_object("Pod", "demo-head", "Failed", {"team": "b"}), 50.0),
    )
    for resource, tree, moment in lives:
        key = Key(resource, "default", tree["metadata"]["name"])
        with ledger.writing(resource, 1):
            ledger.note(Version(key, key.name, msgspec.json.encode(tree | {"status": {"phase": "Pending"}})), 10.0)
            ledger.end(Version(key, key.name, msgspec.json.encode(tree)), moment)
    ledger.close()
    return Commands(tmp_path / "kubeconfig", capsys)


ALL = ["raycluster/demo", "pod/demo-head"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ((), ALL),
        (("-A",), ALL),
        (("raycluster",), ALL[:1]),
        (("rayclusters.ray.io",), ALL[:1]),
        (("po",), ALL[1:]),
        (("pods,raycluster",), ALL),
        (("pod/demo-head",), ALL[1:]),
        (("-l", "team=a"), ALL[:1]),
    ],
)
def test_what_is_gone_is_listed_without_a_server(
    without_server: Commands, arguments: tuple[str, ...], names: list[str]
) -> None:
    code, out, err = without_server("get", "--all", *arguments)
    head, *rows = out.strip().splitlines()
    at = 1 if "-A" in arguments else 0
    assert (code, head.split()[at:]) == (0, ["GONE", "OBJECT", "LAST", "STATE", "CREATED", "GONE"])
    assert [row.split()[at] for row in rows] == names
    assert err.startswith("only what is gone: ")


def test_the_last_state_of_one_is_printed_with_the_time_it_went(without_server: Commands) -> None:
    code, out, _err = without_server("get", "raycluster/demo", "--all", "-o", "yaml")
    tree = yaml.safe_load(out)
    assert (code, tree["status"]) == (0, {"phase": "ready"})
    assert tree["metadata"]["annotations"] == {"heliostat.dev/gone-at": "1970-01-01T00:01:00Z"}
    assert without_server("get", "pod", "--all", "-o", "name")[1] == "pod/demo-head (gone at 1970-01-01T00:00:50Z)\n"


def test_a_pod_that_was_deleted_while_it_ran_is_not_told_as_failed(without_server: Commands, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "history" / LEDGER)
    for name, before in (("worked", "Running"), ("broke", "Failed"), ("done", "Succeeded")):
        key = Key("pods", "default", name)
        tree = build_object("Pod", name, before)
        going = tree | {"metadata": tree["metadata"] | {"deletionTimestamp": "1970-01-01T00:00:40Z"}}
        last = going | {"status": {"phase": "Failed" if before == "Running" else before}}
        with ledger.writing("pods", 2):
            for moment, version in ((10.0, tree), (40.0, going)):
                ledger.note(Version(key, name, msgspec.json.encode(version)), moment)
            ledger.end(Version(key, name, msgspec.json.encode(last)), 70.0)
    ledger.close()
    _code, out, _err = without_server("get", "--all", "pods")
    states = {
        row.split()[0]: row[row.index("  ") :].split("  1970")[0].strip() for row in out.splitlines() if "/" in row
    }
    assert states == {
        "pod/worked": "Running, then deleted",
        "pod/broke": "Failed, then deleted",
        "pod/done": "Succeeded, then deleted",
        "pod/demo-head": "Failed",
    }


def test_explain_tells_when_it_became_what(without_server: Commands) -> None:
    code, out, err = without_server("explain", "pod/demo-head")
    assert err.startswith("only what this machine remembers: no cluster to talk to: ")
    assert (code, out.splitlines()) == (
        1,
        [
            "Pod default/demo-head (demo-head)",
            "  1970-01-01T00:00:10Z  phase Pending",
            "  1970-01-01T00:00:50Z  phase Failed",
            "  1970-01-01T00:00:50Z  gone",
        ],
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("get", "--all", "pod/never"), "no cluster to talk to"),
        (("get", "--all", "-n", "other"), "no cluster to talk to"),
        (("explain", "pod/never"), "no cluster to talk to"),
        (("get", "--all", "-l", "a in"), "--selector: "),
    ],
)
def test_what_nobody_remembers_is_an_error(without_server: Commands, arguments: tuple[str, ...], why: str) -> None:
    code, out, err = without_server(*arguments)
    assert (code != 0, out, why in err) == (True, "", True), err


def test_a_history_that_cannot_be_read_is_told_in_a_sentence(without_server: Commands, tmp_path: Path) -> None:
    (tmp_path / "history" / LEDGER).write_bytes(b"damaged" * 1000)
    code, _out, err = without_server("get", "pods", "--all")
    assert (code, err.count("\n"), "cannot be read: file is not a database" in err) == (1, 1, True), err


@pytest.fixture
def with_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    (tmp_path / "node").mkdir()
    history = HistoryOptions(directory=tmp_path / "history", resources=("services",), has_same_store=False)
    with api_server_in_thread(ServerOptions(history=history)) as server:
        (tmp_path / "kubeconfig").write_text(server.kubeconfig.read_text())
        yield Commands(tmp_path / "kubeconfig", capsys)


def test_the_living_come_first_and_then_those_that_are_gone(with_server: Commands, tmp_path: Path) -> None:
    for name in ("gone", "stays"):
        port = {"port": 80}
        tree = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [port]}}
        (tmp_path / "service.json").write_text(json.dumps(tree))
        assert with_server("apply", "-f", str(tmp_path / "service.json"))[0] == 0
    assert with_server("delete", "service/gone")[0] == 0
    deadline = time.monotonic() + 10
    while not read_gone(tmp_path / "history" / LEDGER):  # it is written down just after everybody sees it
        assert time.monotonic() < deadline
    code, out, err = with_server("get", "service", "gone", "stays", "--all")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in lines if line] == ["NAME", "stays", "GONE", "service/gone"]
    trees = json.loads(with_server("get", "svc", "--all", "-o", "json")[1])["items"]
    marked = {tree["metadata"]["name"]: "annotations" in tree["metadata"] for tree in trees}
    assert marked == {"kubernetes": False, "stays": False, "gone": True}
    _code, out, err = with_server("explain", "service/gone")
    assert out.splitlines()[-1].endswith("  gone")
    assert err.startswith("only what this machine remembers: there is no Service 'gone'")
    assert "there is no Service 'never'" in with_server("get", "service/never", "--all")[2]
