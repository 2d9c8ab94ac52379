"""What to do next about a Pod: restart policies, init containers, sidecars, deletion, and that it all comes to rest."""

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.node.pod_shapes import NOW, STARTED, UID, build_pod, container, ended, running, sidecar, situation
from heliostat.embedded.node.lifecycle import (
    Decision,
    Dismantle,
    Health,
    Prepare,
    Release,
    Situation,
    Start,
    Step,
    Stop,
    decide,
)
from heliostat.embedded.node.pods import NodePod
from heliostat.embedded.node.restarts import backoff_left, backoff_seconds

if TYPE_CHECKING:
    from heliostat.embedded.node.shim.journal import Run

DELETED = {"deletionTimestamp": "2023-11-14T22:13:50Z"}  # thirty seconds after NOW


def steps(where: Situation) -> tuple[Step, ...]:
    return decide(where).steps


def test_a_pod_without_a_sandbox_gets_one_and_only_then_its_containers() -> None:
    pod = build_pod(container("a"), container("b"))
    assert steps(situation(pod, has_sandbox=False, was_prepared=False)) == (Prepare(),)
    assert steps(situation(pod)) == (Start("a", 0), Start("b", 0))
    assert steps(situation(pod, running("a"), running("b"))) == ()


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("Always", 0, (Start("c", 1),)),
        ("Always", 1, (Start("c", 1),)),
        ("OnFailure", 1, (Start("c", 1),)),
        ("OnFailure", 0, (Dismantle(),)),
        ("Never", 0, (Dismantle(),)),
        ("Never", 1, (Dismantle(),)),
    ],
)
def test_what_has_ended_is_restarted_as_the_policy_says(policy: str, code: int, expected: tuple[Step, ...]) -> None:
    assert steps(situation(build_pod(restartPolicy=policy), ended(code=code))) == expected


def test_one_container_that_is_done_does_not_end_the_others() -> None:
    pod = build_pod(container("a"), container("b"), restartPolicy="Never")
    assert steps(situation(pod, ended("a", 1), running("b"))) == ()


@pytest.mark.parametrize(("crashes", "seconds"), [(1, 0), (2, 10), (3, 20), (4, 40), (6, 160), (7, 300), (20, 300)])
def test_the_more_often_it_crashes_the_longer_it_waits(crashes: int, seconds: float) -> None:
    runs = [ended(code=1, attempt=number, at=NOW + number) for number in range(crashes)]
    assert backoff_seconds(runs) == seconds
    decision = decide(situation(build_pod(), *runs, now=runs[-1].finished_at))
    if seconds:
        assert (decision.steps, decision.wake_after) == ((), seconds)
        later = situation(build_pod(), *runs, now=runs[-1].finished_at + seconds)
        assert steps(later) == (Start("c", crashes),)
    else:
        assert decision.steps == (Start("c", 1),)


def test_a_long_run_is_forgiven_what_was_before() -> None:
    runs = [ended(code=1, attempt=number, at=NOW + number) for number in range(5)]
    runs.append(ended(code=1, attempt=5, at=NOW + 10, seconds=601))
    assert backoff_left(runs, runs[-1].finished_at) == 0.0


def test_init_containers_run_one_after_the_other_and_before_all_else() -> None:
    pod = build_pod(initContainers=[container("i"), container("j")])
    assert steps(situation(pod)) == (Start("i", 0),)
    assert steps(situation(pod, running("i"))) == ()
    assert steps(situation(pod, ended("i"))) == (Start("j", 0),)
    assert steps(situation(pod, ended("i"), ended("j"))) == (Start("c", 0),)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("Always", (Start("i", 1),)), ("OnFailure", (Start("i", 1),)), ("Never", (Dismantle(),))],
)
def test_an_init_container_that_fails_is_tried_again_unless_never(policy: str, expected: tuple[Step, ...]) -> None:
    pod = build_pod(initContainers=[container("i")], restartPolicy=policy)
    assert steps(situation(pod, ended("i", 1))) == expected


def test_what_comes_after_a_sidecar_waits_until_it_has_started() -> None:
    pod = build_pod(initContainers=[sidecar("s"), container("i")])
    waiting = {f"{UID}-s-0": Health(has_started=False, is_ready=False)}
    assert steps(situation(pod, running("s"), health=waiting)) == ()
    assert steps(situation(pod, running("s"))) == (Start("i", 0),)
    assert steps(situation(pod, running("s"), ended("i"))) == (Start("c", 0),)


def test_a_sidecar_is_restarted_while_the_others_go_on() -> None:
    pod = build_pod(initContainers=[sidecar("s")], restartPolicy="Never")
    assert steps(situation(pod, ended("s", 0), running("c"))) == (Start("s", 1),)
    starting = {f"{UID}-s-1": Health(has_started=False, is_ready=False), f"{UID}-s-0": Health(has_started=False)}
    again = situation(pod, ended("s", 0), running("s", 1, NOW + 1), running("c"), health=starting)
    assert steps(again) == ()


def test_in_a_new_sandbox_everything_begins_again_in_its_order() -> None:
    pod = build_pod(initContainers=[container("i"), sidecar("s"), container("j")])
    before = [ended(name, code, at=NOW) for name, code in (("i", 0), ("s", 137), ("j", 0), ("c", 137))]
    assert steps(situation(pod, *before, has_sandbox=False)) == (Prepare(),)
    assert steps(situation(pod, *before, earlier=before)) == (Start("i", 1),)
    runs = [*before, ended("i", attempt=1, at=NOW + 1)]
    assert steps(situation(pod, *runs, earlier=before)) == (Start("s", 1),)
    runs.append(running("s", attempt=1, at=NOW + 2))
    assert steps(situation(pod, *runs, earlier=before)) == (Start("j", 1),)
    runs.append(ended("j", attempt=1, at=NOW + 3))
    assert steps(situation(pod, *runs, earlier=before)) == (Start("c", 1),)


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("Always", 0, Start("i", 1)),
        ("OnFailure", 137, Start("i", 1)),
        ("OnFailure", 0, Dismantle()),
        ("Never", 0, Dismantle()),
    ],
)
def test_a_new_sandbox_is_used_only_for_what_is_still_to_do(policy: str, code: int, expected: Step) -> None:
    pod = build_pod(initContainers=[container("i")], restartPolicy=policy)
    runs = [ended("i"), ended("c", code)]
    earlier = runs if isinstance(expected, Start) else []
    assert steps(situation(pod, *runs, earlier=earlier)) == (expected,)


def test_sidecars_are_stopped_last_and_in_reverse() -> None:
    pod = build_pod(initContainers=[sidecar("s"), sidecar("t")], metadata=DELETED)
    everything = (running("s"), running("t", at=NOW + 1), running("c", at=NOW + 2))
    assert _stopped(steps(situation(pod, *everything))) == ["c"]
    assert _stopped(steps(situation(pod, *everything[:2], ended("c", 143)))) == ["t"]
    assert _stopped(steps(situation(pod, everything[0], ended("t", 143), ended("c", 143)))) == ["s"]


def test_a_job_with_a_sidecar_is_over_when_its_own_containers_are() -> None:
    pod = build_pod(initContainers=[sidecar("s")], restartPolicy="Never")
    assert _stopped(steps(situation(pod, running("s"), ended("c", 0)))) == ["s"]


def test_a_deleted_pod_is_stopped_within_its_grace_then_dismantled_then_released() -> None:
    pod = build_pod(metadata=DELETED)
    stop = Stop(f"{UID}-c-0", "c", NOW + 30, "Stopping container c")
    assert decide(situation(pod, running())) == Decision((stop,), 29.0)
    assert steps(situation(pod, ended(code=143))) == (Dismantle(),)
    assert steps(situation(pod, ended(code=143), has_sandbox=False)) == (Release(),)


def test_a_deleted_pod_that_never_began_is_released_at_once() -> None:
    assert steps(situation(build_pod(metadata=DELETED), has_sandbox=False, was_prepared=False)) == (Release(),)


def test_after_its_deadline_a_pod_is_stopped() -> None:
    pod = build_pod(status={"startTime": STARTED, "phase": "Running"}, activeDeadlineSeconds=10)
    assert decide(situation(pod, running(), now=NOW + 4)).wake_after == 6.0
    assert _stopped(steps(situation(pod, running(), now=NOW + 10))) == ["c"]
    assert steps(situation(pod, ended(code=143), now=NOW + 11)) == (Dismantle(),)
    assert steps(situation(pod, ended(code=143), now=NOW + 11, has_sandbox=False)) == ()


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_is_over_stays_over(phase: str) -> None:
    """Also when somebody else said so: an eviction."""
    pod = build_pod(status={"phase": phase})
    assert _stopped(steps(situation(pod, running()))) == ["c"]
    assert steps(situation(pod, ended(), has_sandbox=False)) == ()


@pytest.mark.parametrize(
    ("policy", "grace", "expected"),
    [
        ("Always", None, "Container c failed liveness probe, will be restarted"),
        ("Never", 3, "Container c failed liveness probe"),
    ],
)
def test_a_container_that_must_die_is_stopped(policy: str, grace: int | None, expected: str) -> None:
    health = {f"{UID}-c-0": Health(must_die="Container c failed liveness probe", grace_seconds=grace)}
    pod = build_pod(restartPolicy=policy, terminationGracePeriodSeconds=20)
    (stop,) = steps(situation(pod, running(), health=health, now=NOW))
    assert stop == Stop(f"{UID}-c-0", "c", NOW + (20 if grace is None else grace), expected)


def test_nothing_after_a_container_begins_while_its_post_start_hook_runs() -> None:
    hooked = container("a", lifecycle={"postStart": {"exec": {"command": ["x"]}}})
    pod = build_pod(hooked, container("b"))
    assert steps(situation(pod)) == (Start("a", 0),)
    assert steps(situation(pod, running("a"), health={f"{UID}-a-0": Health(is_set_up=False, has_started=False)})) == ()
    assert steps(situation(pod, running("a"))) == (Start("b", 0),)


def _stopped(found: tuple[Step, ...]) -> list[str]:
    assert all(isinstance(step, Stop) for step in found)
    return [step.container for step in found if isinstance(step, Stop)]


# laws


class Node:
    """Carries out steps as a node would, and protests when it should."""

    def __init__(self, pod: NodePod) -> None:
        self.pod = pod
        self.now = NOW
        self.runs: list[Run] = []
        self.has_sandbox = self.was_prepared = self.is_released = False
        self.earlier: list[Run] = []

    def situation(self) -> Situation:
        return situation(
            self.pod,
            *self.runs,
            now=self.now,
            has_sandbox=self.has_sandbox,
            was_prepared=self.was_prepared,
            earlier=self.earlier,
        )

    def settle(self) -> None:
        """Until there is nothing left to do; with at most so many rounds as there can be steps."""
        for _ in range(30):
            decision = decide(self.situation())
            if not decision.steps or self.is_released:
                return
            for step in decision.steps:
                self._do(step)
        raise AssertionError(f"it does not come to rest: {decide(self.situation())}")

    def end(self, index: int, code: int) -> None:
        going = [number for number, run in enumerate(self.runs) if not run.is_over]
        if going:
            number = going[index % len(going)]
            self.runs[number] = self.runs[number]._replace(finished_at=self.now, exit_code=code)

    def lose_sandbox(self) -> None:
        if self.has_sandbox:
            self.has_sandbox = False
            going = [run for run in self.runs if not run.is_over]
            for run in going:
                self.runs[self.runs.index(run)] = run._replace(finished_at=self.now, exit_code=137, signal=9)

    def _do(self, step: Step) -> None:
        self.now += 0.001
        match step:
            case Prepare():
                assert not self.has_sandbox
                self.has_sandbox = self.was_prepared = True
                self.earlier = list(self.runs)
            case Start(name, attempt):
                self._start(name, attempt)
            case Stop(id_):
                number = next(number for number, run in enumerate(self.runs) if run.id == id_)
                assert not self.runs[number].is_over
                self.runs[number] = self.runs[number]._replace(finished_at=self.now, exit_code=143, signal=15)
            case Dismantle():
                assert all(run.is_over for run in self.runs)
                self.has_sandbox = False
            case Release():
                assert not self.has_sandbox
                self.is_released = True

    def _start(self, name: str, attempt: int) -> None:
        assert self.has_sandbox
        assert not self.pod.metadata.is_terminating
        mine = [run for run in self.runs if run.name == name]
        assert all(run.is_over for run in mine), "two runs of one container at once"
        assert self._may_start(name), "before an init container has succeeded in this sandbox"
        assert attempt == len(mine)
        self.runs.append(running(name, attempt, self.now))

    def _may_start(self, name: str) -> bool:
        inits = [each for each in self.pod.spec.init_containers if each.restart_policy != "Always"]
        if name in [each.name for each in self.pod.spec.init_containers]:
            return True
        here = [run for run in self.runs if run not in self.earlier]
        return all(any(run.name == each.name and run.exit_code == 0 for run in here) for each in inits)


def _pods(**metadata: Any) -> st.SearchStrategy[NodePod]:
    inits = st.lists(st.booleans(), max_size=3).map(
        lambda kinds: [sidecar(f"i{n}") if kind else container(f"i{n}") for n, kind in enumerate(kinds)]
    )
    mains = st.integers(1, 3).map(lambda number: [container(f"c{n}") for n in range(number)])
    policies = st.sampled_from(["Always", "OnFailure", "Never"])
    return st.builds(
        lambda init, main, policy: build_pod(*main, initContainers=init, restartPolicy=policy, metadata=metadata),
        inits,
        mains,
        policies,
    )


_CHANCES = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from([0, 1, 137]), st.floats(0, 400)), max_size=8
)  # which container ends, how, and how long after that somebody looks


@given(_pods(), _CHANCES)
def test_carrying_out_the_steps_comes_to_rest_and_never_runs_a_container_twice(
    pod: NodePod, chances: list[tuple[int, int, float]]
) -> None:
    node = Node(pod)
    node.settle()
    for index, code, seconds in chances:
        node.end(index, code)
        node.settle()
        node.now += seconds
        node.settle()


@given(_pods(), _CHANCES, _CHANCES)
def test_a_sandbox_that_dies_is_replaced_and_its_init_containers_run_again(
    pod: NodePod, before: list[tuple[int, int, float]], after: list[tuple[int, int, float]]
) -> None:
    node = Node(pod)
    for chances in (before, after):
        node.settle()
        for index, code, seconds in chances:
            node.end(index, code)
            node.now += seconds
            node.settle()
        node.lose_sandbox()
    node.settle()


@given(_pods(), _CHANCES)
def test_a_deleted_pod_is_always_released_and_starts_nothing_more(
    pod: NodePod, chances: list[tuple[int, int, float]]
) -> None:
    node = Node(pod)
    for index, code, _seconds in chances:
        node.settle()
        node.end(index, code)
    deleted = build_pod(metadata=DELETED)
    node.pod = NodePod(metadata=deleted.metadata, spec=pod.spec, status=pod.status)
    node.settle()
    assert node.is_released
    assert all(run.is_over for run in node.runs)


@given(_pods(), _CHANCES)
def test_deciding_twice_is_deciding_once(pod: NodePod, chances: list[tuple[int, int, float]]) -> None:
    node = Node(pod)
    for index, code, _seconds in chances:
        node.settle()
        node.end(index, code)
    where = node.situation()
    assert decide(where) == decide(where)
