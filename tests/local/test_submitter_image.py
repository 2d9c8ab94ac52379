"""KubeRay's image of the lightweight submitter on the local node: ``/submitter`` is there, and it is ours."""

import asyncio
import os
from pathlib import Path

import pytest

from embedded.node.node_world import Tree, is_phase, node_world, state
from heliostat.embedded.doors.images import ImageTableError, read_table
from heliostat.local.images import lightweight_submitter

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.geteuid() != 0, reason="Pods as processes need root")]

NAMED = {"name": "c", "image": "quay.io/kuberay/submitter:nightly"}


@pytest.mark.parametrize("plain_because", ["", "this is a test"])
@pytest.mark.parametrize("command", [{"command": ["/submitter"]}, {}])
def test_the_program_is_where_kuberays_image_has_it(tmp_path: Path, plain_because: str, command: Tree) -> None:
    async def scenario() -> None:
        images = (lightweight_submitter(),)
        async with node_world(tmp_path, images=images, plain_because=plain_because) as world:
            env = [{"name": "RAY_JOB_SUBMISSION_ID", "value": "job"}]
            container = {**NAMED, **command, "args": ["--", "python", "x.py"], "env": env}
            await world.run_pod("first", container, restartPolicy="Never")
            pod = await world.until("first", is_phase("Succeeded", "Failed"))
            assert state(pod)["terminated"]["exitCode"] == 1
            assert world.log(pod)[0].startswith("error: the variable RAY_DASHBOARD_ADDRESS is empty")

    asyncio.run(scenario())
    assert not Path("/submitter").exists()


@pytest.mark.parametrize(("programs", "said"), [('{"tool" = ["x"]}', "no absolute path"), ('{"/tool" = []}', "starts")])
def test_a_program_that_cannot_be_is_refused(programs: str, said: str) -> None:
    with pytest.raises(ImageTableError, match=said):
        read_table(f'[[image]]\nmatch = "x"\nprograms = {programs}\n', "images.toml")
