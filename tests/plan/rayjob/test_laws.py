"""Laws of a RayJob's planner under any history: users, Ray, other controllers and time move in any order.

In every step: phases change only along the table; a terminal phase is final; "unknown" never makes a job Complete;
nothing that the job does not own is deleted (the world checks it); Ray takes a job once for each id while it remembers;
attempts stay within the limit; a pass wakes up later or not at all. In the end the planner rests.
"""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from heliostat.plan.rayjob.answers import OVER
from heliostat.plan.rayjob.phases import TABLE, TERMINAL, Phase
from plan.rayjob.job_worlds import JobWorld, act, begin, end_submitter, run, settle

LAWFUL = {(row.at, row.to) for row in TABLE}
LAWFUL |= {(row.at, Phase.RETRYING) for row in TABLE if row.to is Phase.FAILED}
LAWFUL |= {
    (phase, Phase.VALIDATION_FAILED)
    for phase in (Phase.NEW, Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING, Phase.SUSPENDED)
}

MOVES = ("act", "settle", "wait", "wait long", "suspend", "resume", "spoil", "mend", "submitter ends",
         "submitter fails", "lose cluster", "lose pods", "lose submitter", "ray forgets", "silence", "voice",
         "PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED")  # fmt: skip
LOST = {"lose cluster": "RayCluster", "lose pods": "Pod", "lose submitter": "Job"}
PLAIN = {"submissionMode": "K8sJobMode", "shutdownAfterJobFinishes": True}
LIMITS = ("activeDeadlineSeconds", "preRunningDeadlineSeconds", "backoffLimit")
SPECS = st.fixed_dictionaries(
    {
        "submissionMode": st.sampled_from(["K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"]),
        "shutdownAfterJobFinishes": st.just(True),
        "activeDeadlineSeconds": st.sampled_from([None, 50]),
        "preRunningDeadlineSeconds": st.sampled_from([None, 20]),
        "backoffLimit": st.sampled_from([None, 0, 1, 2]),
    }
)


def move(world: JobWorld, what: str) -> JobWorld:
    ray = world.ray
    match what:
        case "act":
            return act(world)
        case "settle":
            return settle(world)
        case "wait":
            return world.after(7)
        case "wait long":
            return world.after(400)
        case "suspend" | "resume":
            return world.edit(suspend=what == "suspend")
        case "spoil" | "mend":
            return world.edit(ttlSecondsAfterFinished=-1 if what == "spoil" else 0)
        case "submitter ends" | "submitter fails":
            return end_submitter(world, "Complete" if what == "submitter ends" else "Failed")
        case "lose cluster" | "lose pods" | "lose submitter":
            return world.without(LOST[what])
        case "ray forgets":
            return world.with_ray(structs.replace(ray, jobs={}))
        case "silence" | "voice":
            return world.with_ray(structs.replace(ray, is_silent=what == "silence"))
    return world.with_ray(ray.tell(what, world.now))


def lawful(spec: dict[str, Any]) -> dict[str, Any]:
    """InteractiveMode takes no backoffLimit."""
    return {**spec, "backoffLimit": None} if spec["submissionMode"] == "InteractiveMode" else spec


def check(before: JobWorld, after: JobWorld) -> None:
    if after.job is None:
        return
    then, now = Phase(before.phase), Phase(after.phase)
    assert then is now or (then, now) in LAWFUL, f"{then!r} -> {now!r}"
    if then in TERMINAL:
        assert after.status == before.status
    if now is Phase.COMPLETE and then is not now:
        known = before.ray.jobs.get(before.status.get("jobId", ""))
        told = {str(before.status.get("jobStatus"))} | ({known.status} if known and not before.ray.is_silent else set())
        assert told & (OVER - {"FAILED"}), "nobody said that it ended well"
    limit = (after.job["spec"].get("backoffLimit") or 0) + 1
    assert after.status.get("failed", 0) <= limit


@settings(max_examples=150)
@given(SPECS, st.lists(st.sampled_from(MOVES), max_size=40))
def test_any_history_keeps_the_laws(spec: dict[str, Any], moves: list[str]) -> None:
    world = begin(**lawful(spec))
    for what in moves:
        before, world = world, move(world, what)
        if world.job is None:
            return
        if what == "act":
            check(before, world)
    if "ray forgets" not in moves and "silence" not in moves and spec["submissionMode"] == "HTTPMode":
        assert all(count == 1 for count in world.ray.accepted.values())


@settings(max_examples=100)
@given(SPECS, st.lists(st.sampled_from(MOVES), max_size=25))
@example(dict.fromkeys(LIMITS) | PLAIN, ["act", "act", "act", "settle", "lose cluster"])  # made anew under its name
def test_the_planner_comes_to_rest_wherever_it_was_left(spec: dict[str, Any], moves: list[str]) -> None:
    world = begin(**lawful(spec))
    for what in moves:
        world = move(world, what)
        if world.job is None:
            return
    run(world, passes=40)


@pytest.mark.parametrize("mode", ["K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"])
def test_a_job_that_nobody_disturbs_writes_its_status_once_for_each_turning_point(mode: str) -> None:
    world, written = begin(submissionMode=mode), []
    for _ in range(12):
        before, world = world, act(world)
        if before.status != world.status:
            written.append(world.phase)
        world = settle(world)
    beginning = ["Initializing", "Initializing"]  # its names, and what the cluster says
    assert written[0] == "Initializing"
    assert len(written) <= len(beginning) + (1 if mode == "InteractiveMode" else 2)
