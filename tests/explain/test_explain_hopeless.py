"""Which states of a Pod no waiting mends, and which may."""

from typing import Any

import pytest

from heliostat.explain.events import Warnings
from heliostat.explain.hopeless import is_hopeless
from heliostat.explain.pods import find_pod_trouble
from heliostat.kube.pods import view_pod

Tree = dict[str, Any]
WAITS = {"reason": "CrashLoopBackOff", "message": "back-off"}


def judge(state: Tree, *, last: Tree | None = None, restarts: int = 0, seconds: float = 0.0, **metadata: str) -> bool:
    status = {"name": "ray", "state": state, "lastState": last or {}, "restartCount": restarts}
    pod = {
        "metadata": {"name": "head", **metadata},
        "spec": {"nodeName": "here"},
        "status": {"phase": "Pending", "containerStatuses": [status]},
    }
    trouble = find_pod_trouble(view_pod(pod), Warnings(()))
    return trouble is not None and is_hopeless(trouble, seconds)


def waits(reason: str, message: str) -> Tree:
    return {"waiting": {"reason": reason, "message": message}}


def ended(code: int, reason: str = "Error", message: str = "") -> Tree:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


@pytest.mark.parametrize(
    "message",
    [
        'no entry of images.toml stands for the image "x"; add one, such as: [[image]] match = "x*"',
        'the image "rayproject/ray" stands for the Ray of this machine, and this machine has no ray; install it',
        "there is no uv, which builds it",
    ],
)
def test_an_image_that_nobody_provides(message: str) -> None:
    assert judge(waits("ErrImagePull", message))


def test_an_image_that_is_still_tried_for() -> None:
    assert not judge(waits("ErrImagePull", "uv: the index did not answer"), seconds=60)
    assert not judge(waits("ErrImagePull", "no space left on device"), seconds=60)


@pytest.mark.parametrize(
    "last", [ended(128, "ContainerCannotRun", "rray: not found"), ended(127), ended(126, message="permission denied")]
)
def test_a_program_that_is_not_there(last: Tree) -> None:
    assert judge({"waiting": WAITS}, last=last)
    assert judge(last)


def test_memory_that_does_not_suffice_twice() -> None:
    killed = ended(137, "OOMKilled")
    assert not judge(killed)
    assert judge({"waiting": WAITS}, last=killed, restarts=1)


def test_a_container_that_ends_again_and_again() -> None:
    assert not judge({"waiting": WAITS}, last=ended(1), restarts=1)
    assert judge({"waiting": WAITS}, last=ended(1), restarts=2)


def test_a_container_that_runs_again_may_have_mended_itself() -> None:
    assert not judge({"running": {}}, last=ended(1), restarts=7)


def test_what_somebody_may_be_about_to_make_is_waited_for_a_while() -> None:
    missing = waits("CreateContainerConfigError", 'configmap "absent" not found')
    assert not judge(missing, seconds=5)
    assert judge(missing, seconds=30)


TOO_SMALL = "1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
FULL = "1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
FULL_BESIDE_A_TAINT = (
    "1 Insufficient cpu, 1 node(s) had untolerated taint(s). preemption: 0/2 nodes are available:"
    " 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
)
NO_PREEMPTION = "1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."


@pytest.mark.parametrize(
    ("message", "is_hopeless_later"),
    [(TOO_SMALL, True), (FULL, False), (FULL_BESIDE_A_TAINT, False), (NO_PREEMPTION, False)],
)
def test_a_node_that_is_too_small_stays_so_and_one_that_is_full_may_have_room(
    message: str, is_hopeless_later: bool
) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    pod = {"metadata": {"name": "head"}, "spec": {}, "status": {"phase": "Pending", "conditions": [condition]}}
    trouble = find_pod_trouble(view_pod(pod), Warnings(()))
    assert trouble is not None
    assert (is_hopeless(trouble, 5), is_hopeless(trouble, 30)) == (False, is_hopeless_later)


def test_a_pod_that_is_on_its_way_is_not_hopeless() -> None:
    assert not judge(waits("ContainerCreating", ""), seconds=600)
    assert not judge(
        waits("ErrImagePull", "no entry of images.toml stands for it"), deletionTimestamp="2026-01-01T00:00:00Z"
    )
