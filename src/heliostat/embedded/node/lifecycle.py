"""What to do next about a Pod on this node, from its spec and from what has run so far. Pure; a step is a value.

| the Pod | next |
|---|---|
| is being deleted, or is over | stop what runs (TERM, after the grace KILL), then take the sandbox down |
| has no sandbox | make one |
| has an init container that has not succeeded | run it; with it failed, as the restart policy says |
| has a container that does not run | start it; after a failure with back-off, as the restart policy says |
| has a container whose liveness or startup probe failed | stop it |

Sidecars are init containers that restart always: the next one starts once they run, and they are stopped last. What an
init container has done holds for the sandbox it ran in: when that has died, all of them run again in the next one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from heliostat.embedded.node.pods import Container, NodePod
from heliostat.embedded.node.restarts import backoff_left, may_restart
from heliostat.embedded.node.shim.journal import Run
from heliostat.kube.timestamps import parse_timestamp

_EVICTION_SECONDS: Final = 1.0  # of grace, as kubelets give
_LOOK_AGAIN_SECONDS: Final = 1.0  # at what should have ended by now


class Prepare(Struct, frozen=True):
    """Make the sandbox: namespaces, network, volumes."""


class Start(Struct, frozen=True):
    container: str
    attempt: int


class Pull(Struct, frozen=True):
    """Have what an image stands for made; starts wait for it meanwhile."""

    image: str


class Stop(Struct, frozen=True):
    """TERM now (after the container's own preStop), KILL at ``deadline``."""

    id: str
    container: str
    deadline: float
    because: str


class Dismantle(Struct, frozen=True):
    """End the sandbox; logs and the journal stay."""


class Release(Struct, frozen=True):
    """Nothing of a deleted Pod is left: the API server may forget it."""


Step: TypeAlias = Prepare | Pull | Start | Stop | Dismantle | Release


class Health(Struct, frozen=True):
    """What the probes and the postStart hook of one run of a container say."""

    has_started: bool = True
    is_ready: bool = True
    is_set_up: bool = True  # its postStart hook is over; until then nothing after it begins
    must_die: str = ""  # why: a liveness or startup probe has failed too often, or the postStart hook did
    grace_seconds: int | None = None  # for that death; None: the Pod's


class Situation(Struct, frozen=True, kw_only=True):
    pod: NodePod
    runs: Sequence[Run]  # in the order of their start
    has_sandbox: bool
    was_prepared: bool  # there was one at some time
    health: Mapping[str, Health]  # by the id of a run; one without probes is not in it
    earlier: frozenset[str] = frozenset()  # the ids of runs in sandboxes that were there before this one
    evicted: str = ""  # why; empty: it is not
    now: float


class Decision(Struct, frozen=True):
    steps: tuple[Step, ...] = ()
    wake_after: float | None = None


def run_id(pod: NodePod, container: str, attempt: int) -> str:
    """Derived, so that asking again after a crash starts nothing twice."""
    return f"{pod.metadata.uid}-{container}-{attempt}"


def attempt_of(run: Run) -> int:
    return int(run.id.rpartition("-")[2])


def runs_of(situation: Situation, container: str) -> list[Run]:
    return [run for run in situation.runs if run.name == container]


def last_run(situation: Situation, container: str) -> Run | None:
    runs = runs_of(situation, container)
    return runs[-1] if runs else None


def last_run_here(situation: Situation, container: str) -> Run | None:
    """In this sandbox; as long as there is none, in the last one."""
    run = last_run(situation, container)
    return None if run is None or run.id in situation.earlier else run


def is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def decide(situation: Situation) -> Decision:
    pod = situation.pod
    if pod.metadata.is_terminating:
        return _decide_end(situation, _deletion_deadline(pod, situation.now), may_release=True)
    if pod.status.phase in ("Succeeded", "Failed") or is_over(situation) or is_expired(situation):
        return _decide_end(situation, situation.now + pod.spec.termination_grace_period_seconds, may_release=False)
    if situation.evicted:
        return _decide_end(situation, situation.now + _EVICTION_SECONDS, may_release=False)
    if not situation.has_sandbox:
        return Decision((Prepare(),), _until_expiry(situation))
    return _decide_living(situation)


def _deletion_deadline(pod: NodePod, now: float) -> float:
    """The deletion timestamp already has the grace period in it."""
    return parse_timestamp(pod.metadata.deletion_timestamp) if pod.metadata.deletion_timestamp else now


def _decide_end(situation: Situation, deadline: float, *, may_release: bool) -> Decision:
    if not situation.has_sandbox:
        return Decision((Release(),) if may_release else ())
    running = [run for run in situation.runs if not run.is_over]
    if not running:
        return Decision((Dismantle(),))
    sidecars = {container.name for container in situation.pod.spec.init_containers if is_sidecar(container)}
    first = [run for run in running if run.name not in sidecars] or running[-1:]  # sidecars one by one, the last first
    stops = tuple(Stop(run.id, run.name, deadline, f"Stopping container {run.name}") for run in first)
    return Decision(stops, max(_LOOK_AGAIN_SECONDS, deadline - situation.now))


def is_expired(situation: Situation) -> bool:
    left = _until_expiry(situation)
    return left is not None and left <= 0


def _until_expiry(situation: Situation) -> float | None:
    pod = situation.pod
    if pod.spec.active_deadline_seconds is None or not pod.status.start_time:
        return None
    return parse_timestamp(pod.status.start_time) + pod.spec.active_deadline_seconds - situation.now


def is_over(situation: Situation) -> bool:
    """No container will ever run again."""
    pod = situation.pod
    if failed_init(situation) is not None:
        return True
    if not is_initialized(situation) or not situation.was_prepared:
        return False
    return all(_is_done(situation, container) for container in pod.spec.containers)


def _is_done(situation: Situation, container: Container) -> bool:
    run = last_run(situation, container.name)
    return run is not None and run.is_over and not may_restart(situation.pod, run)


def failed_init(situation: Situation) -> Run | None:
    """An init container that has failed for good."""
    if situation.pod.spec.restart_policy != "Never":
        return None
    for container in situation.pod.spec.init_containers:
        run = last_run(situation, container.name)
        if not is_sidecar(container) and run is not None and run.is_over and run.exit_code != 0:
            return run
    return None


def is_initialized(situation: Situation) -> bool:
    return next_init(situation) is None


def next_init(situation: Situation) -> Container | None:
    """The init container that has to succeed (a sidecar: to have started) before anything after it begins."""
    for container in situation.pod.spec.init_containers:
        run = last_run_here(situation, container.name)
        if is_sidecar(container):
            if run is None or (not has_begun(situation, container)):
                return container
        elif run is None or not run.is_over or run.exit_code != 0:
            return container
    return None


def has_begun(situation: Situation, container: Container) -> bool:
    """Whether a sidecar has ever been up here: those after it do not wait again when it restarts."""
    runs = [run for run in runs_of(situation, container.name) if run.id not in situation.earlier]
    is_up = any(situation.health.get(run.id, Health()).has_started and not run.error for run in runs)
    return is_up or any(last_run_here(situation, name) for name in _names_after(situation.pod, container))


def _names_after(pod: NodePod, container: Container) -> list[str]:
    names = [each.name for each in (*pod.spec.init_containers, *pod.spec.containers)]
    return names[names.index(container.name) + 1 :]


def _is_being_set_up(situation: Situation, container: Container) -> bool:
    """Its postStart hook runs: nothing after it begins."""
    run = last_run(situation, container.name)
    return run is not None and not run.is_over and not situation.health.get(run.id, Health()).is_set_up


def _decide_living(situation: Situation) -> Decision:
    waiting = next_init(situation)
    steps: list[Step] = []
    waits = [_until_expiry(situation)]
    for container in _wanted(situation, waiting):
        step, wait = _decide_container(situation, container)
        steps += step
        waits.append(wait)
        if _waits_for_hook(container, step) or _is_being_set_up(situation, container):
            break
    found = [wait for wait in waits if wait is not None]
    return Decision(tuple(steps), min(found) if found else None)


def _waits_for_hook(container: Container, steps: Sequence[Step]) -> bool:
    return container.lifecycle.post_start is not None and any(isinstance(step, Start) for step in steps)


def _wanted(situation: Situation, waiting: Container | None) -> Iterator[Container]:
    """The containers that should be up now."""
    for container in situation.pod.spec.init_containers:
        if container is waiting or container == waiting:
            yield container
            return
        if is_sidecar(container):
            yield container
    yield from situation.pod.spec.containers


def _decide_container(situation: Situation, container: Container) -> tuple[list[Step], float | None]:
    runs = runs_of(situation, container.name)
    if not runs:
        return [Start(container.name, 0)], None
    run = runs[-1]
    if not run.is_over:
        return _decide_running(situation, run), None
    always = is_sidecar(container)
    is_init = any(container.name == each.name for each in situation.pod.spec.init_containers)
    is_unfinished = run.exit_code != 0 or run.id in situation.earlier
    again = always or (is_unfinished if is_init else may_restart(situation.pod, run))
    if not again:
        return [], None
    wait = backoff_left(runs, situation.now)
    return ([Start(container.name, len(runs))], None) if wait <= 0 else ([], wait)


def _decide_running(situation: Situation, run: Run) -> list[Step]:
    health = situation.health.get(run.id, Health())
    if not health.must_die:
        return []
    of_pod = situation.pod.spec.termination_grace_period_seconds
    deadline = situation.now + (of_pod if health.grace_seconds is None else health.grace_seconds)
    restarts = ", will be restarted" if situation.pod.spec.restart_policy != "Never" else ""
    return [Stop(run.id, run.name, deadline, f"{health.must_die}{restarts}")]
