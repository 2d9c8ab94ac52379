"""``heliostat logs rayjob/NAME``: from Ray, from the Pod that submitted it, and from what is kept."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from heliostat.cli.cluster_access import Cluster
from heliostat.cli.errors import CommandError, MissingObjectError
from heliostat.cli.job_logs import check_job_options, is_job, show_gone_job_log, show_job_log
from heliostat.runtime.kubeconfig import find_connection
from heliostat.testing.scripted_ray import RayScript
from local.rayjob_worlds import ID, World, play

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from heliostat.runtime.https_transport import HttpsTransport

PODS = "/api/v1/namespaces/default/pods"
AT_ONCE = RayScript(pending_seconds=0.0, ends_after=3.0, appears_when_asked=False)
WHOLE = f"{ID} begins\n{ID} ends: SUCCEEDED\n"


def options(folder: Path, **given: Any) -> argparse.Namespace:
    plain = {"container": "", "previous": False, "since": None, "timestamps": False, "tail": None, "follow": False}
    named = {"target": "rayjob/hello", "namespace": "", "kubeconfig": folder / "kubeconfig"}
    return argparse.Namespace(**{**plain, **named, **given})


def open_cluster(folder: Path, world: World) -> Cluster:
    return Cluster(
        find_connection({}, folder / "kubeconfig", ""), cast("HttpsTransport", world.transport), "default", None
    )


@pytest.mark.parametrize(
    ("given", "text"), [({}, f"{ID} begins\n"), ({"follow": True}, WHOLE), ({"tail": 0}, "")], ids=["now", "-f", "tail"]
)
def test_while_its_cluster_is_there_ray_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: dict[str, Any], text: str
) -> None:
    async def scene(world: World) -> None:
        await world.make_cluster()
        await world.begin()
        await world.write("Running", jobId=ID, rayClusterName="hello-c1")
        await world.submit()
        assert await show_job_log(open_cluster(tmp_path, world), options(tmp_path, **given)) == 0
        assert capsys.readouterr().out == text

    play(tmp_path, scene, AT_ONCE)


def test_without_its_cluster_the_pod_that_submitted_it_tells_it(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await world.begin()
        await world.write("Complete", jobId=ID, rayClusterName="hello-c1")
        labels = {"ray.io/originated-from-cr-name": "hello", "ray.io/originated-from-crd": "RayJob"}
        container = {"name": "main", "image": "x"}
        tree = {"metadata": {"name": "hello-pod", "labels": labels}, "spec": {"containers": [container]}}
        await world.server.request("POST", PODS, tree)
        assert await show_job_log(open_cluster(tmp_path, world), options(tmp_path)) == "hello-pod"

    play(tmp_path, scene)


def test_where_nothing_is_left_it_is_what_ray_said_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def scene(world: World) -> None:
        await world.begin()
        await world.write("Failed", jobId=ID, message="failed with exit code 3, last logs:\nso far")
        assert await show_job_log(open_cluster(tmp_path, world), options(tmp_path, tail=1)) == 0
        said = capsys.readouterr()
        assert said.out == "so far\n"
        assert "its cluster is gone; this is what Ray said last" in said.err

    play(tmp_path, scene)


def test_one_that_never_was_is_said_to_be_missing(tmp_path: Path) -> None:
    error = MissingObjectError("there is no RayJob hello", 1)
    with pytest.raises(MissingObjectError):
        show_gone_job_log(options(tmp_path), error)


def test_what_only_a_container_has_is_refused() -> None:
    assert is_job("rayjob/x")
    assert not is_job("pod/x")
    with pytest.raises(CommandError, match="--previous: a container's log has that"):
        check_job_options(options(Path(), previous=True))
