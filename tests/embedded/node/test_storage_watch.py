"""Who writes more to disk than it may is evicted, and says why; who may write as much as there is is not measured."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from embedded.node.node_world import NodeWorld, is_phase, node_world, shell
from embedded.node.pod_shapes import build_pod, container
from heliostat.embedded.node import storage_watch
from heliostat.embedded.node.storage_watch import find_excess, has_limits, measure

MEBI = 1024 * 1024
CACHE = {"name": "cache", "emptyDir": {"sizeLimit": "1Mi"}}


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root")
@pytest.mark.parametrize(
    ("fields", "place", "message"),
    [
        (
            {"volumeMounts": [{"name": "cache", "mountPath": "/cache"}]},
            "/cache/file",
            'Usage of EmptyDir volume "cache" exceeds the limit "1Mi". ',
        ),
        (
            {"resources": {"limits": {"ephemeral-storage": "1Mi"}}},
            "/tmp/ray",
            'Container c exceeded its local ephemeral storage limit "1Mi". ',
        ),
    ],
)
def test_a_pod_that_writes_more_than_it_may_is_evicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], place: str, message: str
) -> None:
    monkeypatch.setattr(storage_watch, "PERIOD", 0.05)

    async def play() -> None:
        async with asyncio.timeout(60), node_world(tmp_path) as world:
            await fill(world, fields, place)
            pod = await world.until("full", is_phase("Failed"))
            assert (pod["status"]["reason"], pod["status"]["message"]) == ("Evicted", message)
            await world.until_event("full", "Evicted", message)
            await world.delete_pod("full")
            await world.until_gone("full")

    asyncio.run(play())


async def fill(world: NodeWorld, fields: dict[str, Any], place: str) -> None:
    script = f"head -c 3000000 /dev/zero > {place}; sleep 1000"
    await world.run_pod("full", shell(script, **fields), volumes=[CACHE])


def test_all_that_lies_beneath_is_measured_and_no_link_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"x" * MEBI)
    (tmp_path / "link").symlink_to("/usr")
    assert MEBI <= measure(tmp_path) < 2 * MEBI
    assert measure(tmp_path / "nothing") == 0


def test_each_container_has_its_own_runs_and_logs(tmp_path: Path) -> None:
    limited = {"resources": {"limits": {"ephemeral-storage": "1Mi"}}}
    pod = build_pod(container(name="c", **limited), container(name="c-1"))
    uid = pod.metadata.uid
    for run in (f"{uid}-c-1-0", f"{uid}-c-0"):
        (tmp_path / "containers" / run).mkdir(parents=True)
    (tmp_path / "containers" / f"{uid}-c-1-0" / "file").write_bytes(b"x" * 2 * MEBI)
    assert find_excess(pod, tmp_path) == ""
    (tmp_path / "logs" / "c").mkdir(parents=True)
    (tmp_path / "logs" / "c" / "0.log").write_bytes(b"x" * 2 * MEBI)
    assert find_excess(pod, tmp_path).startswith("Container c exceeded")


def test_only_pods_with_limits_are_measured() -> None:
    assert not has_limits(build_pod(container()))
    assert not has_limits(
        build_pod(container(), volumes=[{"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": 1}}])
    )
    assert has_limits(build_pod(container(), volumes=[CACHE]))
