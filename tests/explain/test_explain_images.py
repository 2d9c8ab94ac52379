"""Pods that run another version than their image says: a note to what is ready, and to what is not."""

from typing import Any

import pytest

from heliostat.explain.fixes import POD_FIXES, find_fix
from heliostat.explain.objects import explain_object
from heliostat.explain.pods import tell_versions
from heliostat.kube.image_versions import VERSION_MATCHES
from heliostat.kube.pods import view_pod, why_waiting

SAID = 'the image "ray:2.52.0" says Ray 2.52.0, this machine provides 2.60.0'
Tree = dict[str, Any]


def pod(name: str, status: str = "False", *, ready: str = "True") -> Tree:
    differs = {"type": VERSION_MATCHES, "status": status, "reason": "VersionDiffers", "message": f"{SAID}; do this"}
    conditions = [{"type": "Ready", "status": ready}, differs]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"nodeName": "n"},
        "status": {"phase": "Running", "conditions": conditions},
    }


@pytest.mark.parametrize("ready", ["True", "False"])
def test_a_pod_is_told_about_whether_it_is_ready_or_not(ready: str) -> None:
    (note,) = explain_object(pod("a", ready=ready), [], []).notes
    assert (note.what, note.why) == ("Pod a runs another version than the image says", SAID)
    assert "heliostat up --exact-images" in note.fix


def test_pods_of_one_image_are_told_about_together_and_others_not_at_all() -> None:
    (note,) = tell_versions(map(view_pod, (pod("a"), pod("b"), pod("c", "True"))))
    assert note.what == "Pod a and 1 more run another version than the image says"


def test_an_image_that_an_init_container_waits_for_is_told() -> None:
    waiting = {"reason": "ContainerCreating", "message": 'Pulling image "x": Downloading'}
    status = {"initContainerStatuses": [{"name": "first", "state": {"waiting": waiting}}]}
    tree = {"metadata": {"name": "p"}, "spec": {"nodeName": "n"}, "status": status}
    assert why_waiting(view_pod(tree)) == (
        "ContainerCreating",
        'init container first: Pulling image "x": Downloading',
    )


@pytest.mark.parametrize(
    ("message", "part"),
    [
        ('no entry of images.toml stands for the image "x"; add one', "then heliostat down and heliostat up"),
        ('the image "redis" stands for x, and this machine has no redis-server; install it', "install what"),
        ("Ray 2.9.0 with Python 3.11 cannot be built, because there is no uv: pip install uv", "pip install uv"),
        ("uv finds no Python 3.9 on this machine that it can use; uv: error: No interpreter", "install the Python"),
        ("uv: error: No solution found when resolving dependencies", "choose a tag whose version exists"),
        ("uv finds no Python 3.9 that it can use; uv: error: No space left on device (os error 28)", "free space"),
        ("uv: error: Failed to fetch: https://example.org/simple/ray/", "fix what uv reports"),
        ("unauthorized", "imagePullSecrets"),
    ],
)
def test_each_way_that_an_image_can_be_missing_has_its_own_way_out(message: str, part: str) -> None:
    assert part in find_fix(POD_FIXES, "ImagePullBackOff", message)
