"""What is kept of the logs of Pods that are gone, and who finds it again."""

import asyncio
import os
from pathlib import Path

import pytest

from embedded.node.node_world import is_phase, node_world, shell
from heliostat.cli.main import main
from heliostat.embedded.history.ledger import read_gone
from heliostat.embedded.history.recorder import LEDGER, HistoryOptions
from heliostat.embedded.history.retention import Limits
from heliostat.embedded.node.logs.history import History, list_gone
from heliostat.embedded.node.pod_record import build_record, read_record, write_record
from heliostat.embedded.node.pods import Container, NodePod, PodSpec
from heliostat.kube.objects import Metadata

HEAD = {"ray.io/cluster": "hello", "ray.io/node-type": "head"}


def build_pod(name: str, uid: str, labels: dict[str, str] | None = None) -> NodePod:
    spec = PodSpec(containers=(Container(name="c"), Container(name="side")), node_name="node-0")
    return NodePod(Metadata(name=name, namespace="default", uid=uid, labels=labels or {}), spec)


def make_pod(node: Path, name: str, uid: str, labels: dict[str, str] | None = None) -> Path:
    """A Pod's directory as it is when the Pod is released."""
    place = node / "pods" / uid
    for directory in ("logs/c", "volumes/data", "containers/c-0"):
        (place / directory).mkdir(parents=True)
    (place / "volumes" / "data" / "large").write_text("x" * 1000)
    for attempt, words in enumerate(("first", "second")):
        lines = [f"2026-01-01T00:00:0{index}.000000000Z stdout F {words} {index}\n" for index in range(3)]
        (place / "logs" / "c" / f"{attempt}.log").write_text("".join(lines))
    (place / "link").symlink_to(place / "volumes")
    write_record(place, build_record(build_pod(name, uid, labels)))
    return place


def keep(node: Path, *places: Path) -> None:
    async def work() -> None:
        for place in places:
            await History(node).keep(place)

    asyncio.run(work())


def test_logs_stay_and_nothing_else(tmp_path: Path) -> None:
    place = make_pod(tmp_path, "a", "1")
    keep(tmp_path, place, place)  # a step may be asked for again
    assert not place.exists()
    (gone,) = list_gone(tmp_path)
    assert gone.place == tmp_path / "history" / "default" / "a-1"
    assert sorted(path.name for path in gone.place.iterdir()) == ["logs", "record.json"]
    assert (gone.record.name, gone.record.containers) == ("a", ("c", "side"))


def test_a_pod_nobody_wrote_anything_down_about_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "pods" / "1" / "volumes").mkdir(parents=True)
    keep(tmp_path, tmp_path / "pods" / "1")
    assert list_gone(tmp_path) == []
    assert list((tmp_path / "pods").iterdir()) == []


def test_a_pod_goes_also_where_nothing_can_be_kept(tmp_path: Path) -> None:
    place = make_pod(tmp_path, "a", "1")
    (tmp_path / "history").write_text("a file is in the way")
    keep(tmp_path, place)
    assert not place.exists()


@pytest.mark.parametrize("torn", ["", '{"name": ', "[]"])
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, torn: str) -> None:
    (tmp_path / "record.json").write_text(torn)
    assert read_record(tmp_path) is None


def test_what_is_too_old_or_too_much_is_forgotten(tmp_path: Path) -> None:
    places = [make_pod(tmp_path, name, name) for name in ("old", "large", "new")]
    (places[1] / "logs" / "c" / "2.log").write_bytes(b"x" * 100_000)
    keep(tmp_path, *places)
    now = 1_000_000.0
    for gone in list_gone(tmp_path):
        age = {"old": 500, "large": 50, "new": 5}[gone.record.name]
        os.utime(gone.place, (now - age, now - age))
    history = History(tmp_path, Limits(seconds=100, size=90_000))
    history.forget(now)
    assert [gone.record.name for gone in list_gone(tmp_path)] == ["new"]


class Typed:
    def __init__(self, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.node = state / "node"
        self._capsys = capsys

    def logs(self, *arguments: str) -> tuple[int, str, str]:
        return self._type("logs", "--all", *arguments)

    def _type(self, *arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        shown = self._capsys.readouterr()
        return code, shown.out, shown.err


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    monkeypatch.setenv("HELIOSTAT_STATE", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    keep(tmp_path / "node", make_pod(tmp_path / "node", "hello-head-x", "1", HEAD))
    return Typed(tmp_path, capsys)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("hello-head-x",), "second 0\nsecond 1\nsecond 2\n"),
        (("pod/hello-head-x", "--tail=1"), "second 2\n"),
        (("hello", "--tail=1"), "second 2\n"),
        (("raycluster/hello", "-p", "--tail=1"), "first 2\n"),
        (("hello", "--tail=1", "--timestamps"), "2026-01-01T00:00:02.000000000Z second 2\n"),
    ],
)
def test_logs_of_pods_that_are_gone_are_shown(typed: Typed, arguments: tuple[str, ...], words: str) -> None:
    assert typed.logs(*arguments) == (0, words, "")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("hello-head-y",), "no Pod 'hello-head-y' that is gone from namespace default is remembered; did you mean"),
        (("x", "-n", "other"), "is remembered; nothing is kept there"),
        (("hello", "-c", "sid"), "had no container 'sid'; did you mean side?"),
        (("hello", "-c", "side"), "had never run, so there is no log"),
    ],
)
def test_what_is_not_there_is_told(typed: Typed, arguments: tuple[str, ...], why: str) -> None:
    code, out, err = typed.logs(*arguments)
    assert (code != 0, out) == (True, "")
    assert why in err


def test_who_asks_for_a_pod_that_is_gone_is_told_how_to_see_it(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logs", "hello"]) == 1
    assert "one that is gone is remembered: heliostat logs --all hello" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root")
def test_real_pods_leave_their_logs_and_how_they_ended(tmp_path: Path) -> None:
    async def scene() -> None:
        options = HistoryOptions(directory=tmp_path, resources=("pods",), has_same_store=False)
        async with node_world(tmp_path, history=options) as world:
            ended = shell("echo words; exit 7")
            await world.run_pod("failed", ended, restartPolicy="Never")
            await world.run_pod("stopped", shell("exec sleep 60"), terminationGracePeriodSeconds=1)
            forced = await world.run_pod("forced", shell("echo words; exec sleep 60"))
            await world.until("failed", is_phase("Failed"))
            await world.until("forced", is_phase("Running"))
            await world.until("stopped", is_phase("Running"))
            await world.delete_pod("stopped")
            await world.until_gone("stopped")
            await world.until_log(forced, "words")
            await world.delete_pod("failed")
            await world.until_gone("failed")
            await world.delete_pod("forced", gracePeriodSeconds=0)
            await world.until_no_directory(forced["metadata"]["uid"])
            await world.until_true(lambda: len(read_gone(tmp_path / LEDGER)) == 3)

    asyncio.run(scene())
    gone = {each.record.name: each for each in list_gone(tmp_path)}
    assert gone.keys() == {"failed", "stopped", "forced"}
    phases = {each.key.name: each.tree["status"]["phase"] for each in read_gone(tmp_path / LEDGER)}
    assert phases == {"failed": "Failed", "stopped": "Failed", "forced": "Running"}
    for each in (gone["failed"], gone["forced"]):
        assert (each.place / "logs" / "c" / "0.log").read_text().endswith(" stdout F words\n")
        assert not (each.place / "volumes").exists()
