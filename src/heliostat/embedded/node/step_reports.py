"""What is told about the steps of a Pod's life: what stands in the way for its status, and events. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any

from heliostat.embedded.node import node_events
from heliostat.embedded.node.environment import MissingReferenceError
from heliostat.embedded.node.imaging.images import UnknownImageError
from heliostat.embedded.node.isolating.sandbox import SandboxError
from heliostat.embedded.node.lifecycle import Dismantle, Prepare, Pull, Release, Situation, Start, Step, Stop
from heliostat.embedded.node.network.addresses import AddressesExhaustedError
from heliostat.embedded.node.pods import Container
from heliostat.embedded.node.statuses import Trouble
from heliostat.kube.plan import SILENT, Effect, Event, JsonObject, Report
from heliostat.runtime.outcome import FailedAction, Outcome

_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (UnknownImageError, "ErrImagePull"),
    (MissingReferenceError, "CreateContainerConfigError"),
    (SandboxError, "CreatePodSandboxError"),
    (AddressesExhaustedError, "CreatePodSandboxError"),
)


def build_report(step: Step, *, is_repeated: bool) -> Report:
    """For the executor. Failures are told with what they failed of, by ``build_failure_events``."""
    match step:
        case Start(container, _attempt):
            return Report(failure_tag=container)
        case Stop(because=because) if not is_repeated:
            return Report(success=node_events.killing(because))
        case Prepare() | Pull() | Stop() | Dismantle() | Release():
            return SILENT


def build_start_events(container: Container, pulled: Event) -> tuple[Event, ...]:
    name = container.name
    return pulled, node_events.created(name), node_events.started(name)


def find_troubles(outcome: Outcome) -> dict[str, Trouble]:
    """By container; under "" what holds up the whole Pod."""
    return {failure.tag: Trouble(_reason_of(failure), str(failure.error)) for failure in _steps(outcome)}


def build_failure_events(outcome: Outcome) -> list[Event]:
    return [_failure_event(failure) for failure in _steps(outcome)]


def build_news(situation: Situation, status: JsonObject, known: set[str]) -> Iterator[Event]:
    """What a changed status shows: containers that wait in back-off, and runs that could not start.

    ``known`` are the ids of runs that have been told of; new ones are added.
    """
    for container in _back_off(status):
        yield node_events.backing_off(container, situation.pod.metadata.name)
    for run in situation.runs:
        if run.error and run.id not in known:
            known.add(run.id)
            yield node_events.not_started(run.error)


def _back_off(status: JsonObject) -> Iterator[str]:
    containers: list[dict[str, Any]] = [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]
    for container in containers:
        if (container["state"].get("waiting") or {}).get("reason") == "CrashLoopBackOff":
            yield container["name"]


def _steps(outcome: Outcome) -> Iterable[FailedAction]:
    return (failure for failure in outcome.failures if isinstance(failure.action, Effect))


def _failure_event(failure: FailedAction) -> Event:
    text = str(failure.error)
    if isinstance(failure.error, UnknownImageError):
        return node_events.not_pulled(text)
    if failure.tag:
        return node_events.not_started(text)
    if isinstance(failure.error, MissingReferenceError):
        return node_events.not_mounted(text)
    return node_events.no_sandbox(text)


def _reason_of(failure: FailedAction) -> str:
    otherwise = "CreateContainerError" if failure.tag else "CreatePodSandboxError"
    return next((reason for kind, reason in _REASONS if isinstance(failure.error, kind)), otherwise)
