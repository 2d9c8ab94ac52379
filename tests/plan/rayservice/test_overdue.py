"""An upgrade with a deadline: undone when it takes too long, not tried again by itself, and off unless asked for."""

from typing import Any

import pytest
from msgspec import structs

from heliostat.api.settings import Settings
from heliostat.api.validation import refusal, service_problems
from plan.rayservice.service_worlds import ServiceWorld, act, begin, begin_incremental, deploy, run, settle, spec_of
from plan.rayservice.test_incremental import THIRD_IMAGE, live
from plan.rayservice.test_lives import NEW_IMAGE

ASKED: dict[str, Any] = {"metadata": {"annotations": {"heliostat.dev/upgrade-deadline": "30"}}}


def stall(world: ServiceWorld, ticks: int, status: str = "DEPLOYING") -> ServiceWorld:
    """Other clusters than the active one never get ready."""
    for _ in range(ticks):
        world = settle(act(world)).after(1)
        told = {name: info for name, info in deploy(world, status).serve.items() if name != world.active}
        world = structs.replace(world, serve={**world.serve, **told})
    return world


def test_an_upgrade_that_takes_too_long_is_undone_and_not_tried_again() -> None:
    world = run(begin(**ASKED)).edit(rayClusterConfig=NEW_IMAGE)
    before = stall(world, 20)
    assert before.pending
    assert before.plan().wake_after is not None
    after = stall(before, 15)
    assert (after.active, after.pending, after.routed) == (world.active, "", world.active)
    assert after.condition("UpgradeGivenUp") == ("True", "UpgradeDeadlineExceeded")
    assert after.condition("UpgradeInProgress") == ("False", "NoPendingCluster")
    assert after.told.count("UpgradeDeadlineExceeded") == 1
    later = stall(after.restart().after(600), 6)
    assert (later.pending, later.configured) == ("", after.configured)
    assert later.condition("Ready")[0] == "True"
    assert "UpgradeGivenUp" in later.waits


def test_another_spec_is_tried_again() -> None:
    given_up = stall(run(begin(**ASKED)).edit(rayClusterConfig=NEW_IMAGE), 36)
    again = act(given_up.edit(rayClusterConfig=THIRD_IMAGE))
    assert again.pending
    assert again.condition("UpgradeGivenUp") == ("", "")
    assert run(again).active == again.pending


def test_another_spec_in_the_middle_has_its_own_time() -> None:
    late = stall(run(begin(**ASKED)).edit(rayClusterConfig=NEW_IMAGE), 25)
    again = stall(late.edit(rayClusterConfig=THIRD_IMAGE), 25)
    assert again.pending not in ("", late.pending)
    assert again.condition("UpgradeGivenUp") == ("", "")
    assert stall(again, 10).condition("UpgradeGivenUp") == ("True", "UpgradeDeadlineExceeded")


def test_another_spec_in_the_middle_of_steps_has_its_own_time_after_the_way_back() -> None:
    world = live(begin_incremental(**ASKED, surge=20, step=10), 8).edit(rayClusterConfig=NEW_IMAGE)
    half = live(world, 27)
    assert half.weights[half.pending] > 0
    third = live(half.edit(rayClusterConfig=THIRD_IMAGE), 24)
    assert third.pending not in ("", half.pending)
    assert third.condition("UpgradeGivenUp") == ("", "")


def test_an_upgrade_in_steps_goes_back_the_way_it_came() -> None:
    world = live(begin_incremental(**ASKED), 8).edit(rayClusterConfig=NEW_IMAGE)
    half = live(world, 9)
    assert half.weights[half.pending] > 0
    back = live(stall(half, 25), 20)
    assert (back.active, back.pending) == (world.active, "")
    assert back.weights == {world.active: 100}
    assert back.condition("RollbackInProgress") == ("", "")
    assert live(back, 10).pending == ""


def test_without_the_annotation_an_upgrade_may_take_as_long_as_it_takes() -> None:
    world = stall(run(begin()).edit(rayClusterConfig=NEW_IMAGE), 4)
    assert stall(world.after(100_000), 4).pending == world.pending


def test_an_upgrade_in_time_is_no_matter_of_the_deadline() -> None:
    world = run(run(begin(**ASKED)).edit(rayClusterConfig=NEW_IMAGE))
    assert world.condition("UpgradeGivenUp") == ("", "")
    assert run(world.after(600)).condition("UpgradeInProgress") == ("False", "NoPendingCluster")


@pytest.mark.parametrize(
    ("text", "is_sound"), [("30", True), ("5m", True), ("0", False), ("-5m", False), ("soon", False)]
)
def test_a_deadline_is_a_duration_or_seconds(text: str, is_sound: bool) -> None:
    world = begin(metadata={"annotations": {"heliostat.dev/upgrade-deadline": text}})
    found = refusal(service_problems(spec_of(world), Settings()))
    assert (found is None) is is_sound
