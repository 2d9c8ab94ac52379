"""Laws of the Job controller: whatever ends, dies, repeats or lags, every Pod is counted once and the end is exact."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.controllers.job_world import CrashError, Process, RefusedError, World, is_over, job_tree, settle
from heliostat.kube.jsontree import JsonObject, copy_tree
from heliostat.kube.plan import Plan

pytestmark = pytest.mark.slow

ENDS = frozenset({"Complete", "Failed"})


def specs() -> st.SearchStrategy[JsonObject]:
    plain = st.fixed_dictionaries(
        {"parallelism": st.integers(0, 4), "completions": st.none() | st.integers(0, 5)},
        optional={
            "backoffLimit": st.integers(0, 4),
            "activeDeadlineSeconds": st.integers(1, 3000),
            "podReplacementPolicy": st.sampled_from(["TerminatingOrFailed", "Failed"]),
        },
    )
    indexed = st.fixed_dictionaries(
        {
            "parallelism": st.integers(0, 4),
            "completions": st.integers(0, 5),
            "completionMode": st.just("Indexed"),
            "backoffLimit": st.sampled_from([3, 2147483647]),
        },
        optional={
            "backoffLimitPerIndex": st.integers(0, 2),
            "podReplacementPolicy": st.sampled_from(["TerminatingOrFailed", "Failed"]),
            "successPolicy": st.just({"rules": [{"succeededIndexes": "1,3"}, {"succeededCount": 3}]}),
        },
    )
    policy = {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}}]}
    with_policy = plain.map(lambda spec: {**spec, "podFailurePolicy": policy, "podReplacementPolicy": "Failed"})
    return st.one_of(plain, indexed, with_policy).map(_without_nulls)


def _without_nulls(spec: JsonObject) -> JsonObject:
    return {name: value for name, value in spec.items() if value is not None}


class Run:
    """A Job under a drawn history."""

    def __init__(self, data: st.DataObject, spec: JsonObject) -> None:
        self.data = data
        self.world = World(job_tree(**copy_tree(spec)))
        self.process = Process(self.world)
        self.parallelism = spec["parallelism"]
        self.end: JsonObject | None = None

    def look(self, crash_after: int | None = None) -> None:
        try:
            self.process.look(crash_after)
        except CrashError:
            self.process = Process(self.world)
        self.check()

    def check(self) -> None:
        world = self.world
        assert len(world.active) <= self.parallelism
        status = world.status
        uncounted = status.get("uncountedTerminatedPods", {})
        counted = status.get("failed", 0) + len(uncounted.get("failed", ()))
        if world.job["spec"]["completionMode"] == "NonIndexed":
            counted += status.get("succeeded", 0) + len(uncounted.get("succeeded", ()))
        assert counted <= len(world.names), "more Pods counted than there ever were"
        if ENDS & set(world.conditions()):
            self.end = self.end or status
            assert self.end == status, "an end is final"

    def happen(self) -> None:
        """Something befalls Pods, somebody writes to the Job, time passes."""
        world = self.world
        if self.data.draw(st.booleans()):
            world.edit_job()
        world.now += self.data.draw(st.sampled_from([0, 1, 12, 700]))
        for pod in self.data.draw(st.lists(st.sampled_from(world.pods), unique_by=id) if world.pods else st.just([])):
            if is_over(pod):
                continue
            match self.data.draw(st.sampled_from(["run", "succeed", "fail", "ignored", "delete"])):
                case "run":
                    world.run(pod)
                case "succeed":
                    world.end(pod, "Succeeded")
                case "fail":
                    world.end(pod, "Failed")
                case "ignored":
                    world.end(pod, "Failed", 3)
                case _:
                    world.delete_pod(pod)
        if self.data.draw(st.booleans()):
            world.bury()

    def finish(self) -> None:
        """From here on every Pod succeeds, and nothing is in the way."""
        for _ in range(40):
            settle(self.process)
            self.check()
            if self.end is not None or not (self.world.active or self.parallelism):
                return
            for pod in self.world.active:
                self.world.end(pod, "Succeeded")
            self.world.now += 700
        raise AssertionError(f"no end: {self.world.status}")


@settings(max_examples=80, deadline=None)
@given(st.data(), specs())
def test_every_pod_counts_once_through_crashes_at_any_write(data: st.DataObject, spec: JsonObject) -> None:
    run = Run(data, spec)
    for _ in range(data.draw(st.integers(1, 8))):
        run.look(data.draw(st.none() | st.integers(0, 4)))
        run.happen()
    run.finish()
    _check_counts(run.world)
    if run.world.conditions().get("Complete") == "True":
        _check_completions(run.world)
    assert run.process.look().is_empty, "at rest there is nothing to do"


def _check_counts(world: World) -> None:
    """What the status counts is what happened to the Pods, no more and no less."""
    status = world.status
    if not ENDS & set(world.conditions()):
        return
    assert status.get("uncountedTerminatedPods") == {}
    assert not any(pod["metadata"].get("finalizers") for pod in world.pods)
    if world.job["spec"]["completionMode"] == "Indexed" or "podFailurePolicy" in world.job["spec"]:
        return
    ends = list(world.ended.values())
    if "Complete" in world.conditions():
        either = ends.count("Either")
        assert 0 <= status.get("succeeded", 0) - ends.count("Succeeded") <= either
        assert 0 <= status.get("failed", 0) - ends.count("Failed") <= either
        # A Job that waits for Pods to be over before it counts them does not wait once it is complete.
        open_ends = either if world.job["spec"].get("podReplacementPolicy") == "Failed" else 0
        assert 0 <= len(ends) - status.get("succeeded", 0) - status.get("failed", 0) <= open_ends


def _check_completions(world: World) -> None:
    spec, status = world.job["spec"], world.status
    reason = next(each["reason"] for each in status["conditions"] if each["type"] == "Complete")
    if reason == "CompletionsReached" and "completions" in spec:
        assert status.get("succeeded", 0) == spec["completions"]


@settings(max_examples=60, deadline=None)
@given(st.data(), specs())
def test_a_plan_from_an_old_view_does_no_harm(data: st.DataObject, spec: JsonObject) -> None:
    """It is planned, the world goes on, and then the old plan is carried out by a process that dies with it."""
    run = Run(data, spec)
    for _ in range(data.draw(st.integers(1, 6))):
        run.look()
        run.happen()
        late = Process(run.world)
        plan = late.plan()
        run.happen()
        if data.draw(st.booleans()):
            run.look()
        late.carry_out(_without_creates(plan))
    run.finish()
    _check_counts(run.world)


def _without_creates(plan: Plan) -> Plan:
    """The creates of a dead process are the loop's business (leases); everything else is guarded by versions."""
    return Plan(tuple(stage for stage in plan.stages if stage.name != "create"))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_view_of_pods_that_lags_behind_the_job_counts_nothing_twice(data: st.DataObject) -> None:
    """A process takes over whose first list of Pods is older than its view of the Job."""
    run = Run(data, {"parallelism": 3, "completions": 3})
    for _ in range(data.draw(st.integers(1, 6))):
        run.look(data.draw(st.none() | st.integers(0, 3)))
        run.happen()
        seen = data.draw(st.integers(0, run.world.version))
        late = Process(run.world, pods_seen=seen)
        late.carry_out(_without_creates(late.plan()))
    run.finish()
    _check_counts(run.world)


def test_the_server_refuses_what_was_decided_from_another_version() -> None:
    """The laws above lean on it: a plan carried out twice fails the second time."""
    world = World(job_tree())
    process = Process(world)
    settle(process)
    world.end(world.pods[0], "Succeeded")
    process.see("Job", world.version)
    process.see("Pod", world.version)
    plan = process.plan()
    process.carry_out(plan)
    refused = 0
    for action in plan.actions():
        try:
            world.carry_out(action)
        except RefusedError:
            refused += 1
    assert refused == len(list(plan.actions())) == 2
