"""Which starts wait for what their image stands for, and what a Pod is told of it and of its version."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from embedded.node.pod_shapes import NOW, UID, build_pod, container
from heliostat.embedded.node.imaging.image_environments import provide_image
from heliostat.embedded.node.imaging.image_versions import judge_versions
from heliostat.embedded.node.imaging.image_waits import Absent, Present, PullFailed, Pulling, PullState, hold_back
from heliostat.embedded.node.imaging.images import Build, Image, UnknownImageError
from heliostat.embedded.node.lifecycle import Decision, Prepare, Pull, Start
from heliostat.embedded.node.statuses import Trouble
from heliostat.kube.image_versions import VERSION_MATCHES

TAG = r"(?P<version>\d+\.\d+)(?:-.*)?"


class FixedShelf:
    def __init__(self, states: Mapping[str, PullState]) -> None:
        self._states = states

    def state(self, name: str, uid: str) -> PullState:
        assert uid == UID
        return self._states.get(name, Present())


START = Decision((Start("c", 0),))
POD = build_pod(container(image="built:1"))


@pytest.mark.parametrize(
    ("state", "decision", "trouble"),
    [
        (Present(), START, None),
        (Absent(), Decision((Pull("built:1"),)), None),
        (Pulling("42 %"), Decision(), Trouble("ContainerCreating", 'Pulling image "built:1": 42 %')),
        (
            PullFailed("no net", NOW + 7),
            Decision((), 7.0),
            Trouble("ImagePullBackOff", 'Back-off pulling image "built:1": no net'),
        ),
        (PullFailed("no net", NOW), Decision((Pull("built:1"),)), None),
    ],
)
def test_a_start_waits_for_its_image(state: PullState, decision: Decision, trouble: Trouble | None) -> None:
    held = hold_back(POD, START, FixedShelf({"built:1": state}), NOW)
    assert held.decision == decision
    assert held.troubles == ({"c": trouble} if trouble is not None else {})


def test_containers_of_one_image_ask_for_it_once_and_others_start_meanwhile() -> None:
    pod = build_pod(container("a", image="built:1"), container("b", image="built:1"), container("c"))
    decision = Decision((Start("a", 0), Start("b", 0), Start("c", 0)), 3.0)
    held = hold_back(pod, decision, FixedShelf({"built:1": Absent()}), NOW)
    assert held.decision == Decision((Pull("built:1"), Start("c", 0)), 3.0)


def test_the_sooner_of_two_reasons_to_look_again_counts() -> None:
    shelf = FixedShelf({"built:1": PullFailed("no net", NOW + 7)})
    assert hold_back(POD, Decision(START.steps, 3.0), shelf, NOW).decision.wake_after == 3.0


def test_steps_without_an_image_are_left_alone() -> None:
    decision = Decision((Prepare(),), 5.0)
    assert hold_back(POD, decision, FixedShelf({"built:1": Absent()}), NOW).decision == decision


THERE = Image(match="ray*", product="Ray", version="2.60", tag=TAG)
DIFFERS = [
    ("ray:2.60", THERE, False),
    ("ray:2.52", THERE, True),
    ("ray:2.52-gpu", THERE, True),
    ("ray:latest", THERE, False),
    ("ray", THERE, False),
    ("unknown:2.52", THERE, False),
    ("ray:2.52", Image(match="ray*", tag=TAG), False),  # nobody knows what is there
    ("ray:2.52", Image(match="ray*", version="2.60"), False),  # nobody knows what the tag says
    ("ray:2.52", Image(match="ray*", tag=TAG, build=Build(requirements=())), False),
]


@pytest.mark.parametrize(("name", "entry", "differs"), DIFFERS)
def test_a_version_is_compared_where_both_sides_say_one(name: str, entry: Image, *, differs: bool) -> None:
    told = judge_versions(build_pod(container(image=name)), (entry,))
    assert bool(told) == differs
    if differs:
        status, reason, message = told[VERSION_MATCHES]
        assert (status, reason) == ("False", "VersionDiffers")
        assert f'the image "{name}" says Ray 2.52, this machine provides 2.60; heliostat up --exact-images' in message


def test_images_that_several_containers_share_are_told_once() -> None:
    pod = build_pod(container("a", image="ray:2.1"), container("b", image="ray:2.1"), container("c", image="ray:2.2"))
    message = judge_versions(pod, (THERE,))[VERSION_MATCHES][2]
    assert (message.count('"ray:2.1"'), message.count('"ray:2.2"')) == (1, 1)


def test_a_difference_that_is_over_is_taken_back() -> None:
    before: dict[str, Any] = {"conditions": [{"type": VERSION_MATCHES, "status": "False"}]}
    pod = build_pod(container(image="ray:2.60"), status=before)
    assert judge_versions(pod, (THERE,)) == {VERSION_MATCHES: ("True", "", "")}


def test_an_entry_whose_program_is_missing_says_what_to_install() -> None:
    entry = Image(match="redis*", description="the machine's redis-server", needs="no-such-server")
    with pytest.raises(UnknownImageError) as raised:
        provide_image("redis:7", (entry,))
    assert str(raised.value).startswith(
        'the image "redis:7" stands for the machine\'s redis-server, and this machine has no no-such-server; install it'
    )


def test_what_an_entry_needs_may_be_in_its_own_path(tmp_path: Path) -> None:
    program = tmp_path / "serve"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    entry = Image(match="mine*", needs="serve", path=(str(tmp_path),))
    assert provide_image("mine", (entry,)) is entry
