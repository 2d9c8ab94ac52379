"""What is told about steps: the reasons in a status, and the events, in the words that people search for."""

from typing import Any

import pytest

from embedded.node.pod_shapes import build_pod, container, ended, running, situation
from heliostat.embedded.node import node_events
from heliostat.embedded.node.environment import MissingReferenceError
from heliostat.embedded.node.imaging.images import UnknownImageError
from heliostat.embedded.node.isolating.sandbox import SandboxError
from heliostat.embedded.node.lifecycle import Dismantle, Prepare, Release, Start, Step, Stop
from heliostat.embedded.node.probing.probes import ProbeKind, ProbeResult
from heliostat.embedded.node.statuses import Place, build_status
from heliostat.embedded.node.step_reports import (
    build_failure_events,
    build_news,
    build_report,
    build_start_events,
    find_troubles,
)
from heliostat.kube.plan import SILENT, Effect
from heliostat.runtime.outcome import FailedAction, Outcome


def failed(error: Exception, tag: str = "") -> Outcome:
    return Outcome(failures=(FailedAction(Effect("pod-step", {}, "k", because="it"), error, tag),))


@pytest.mark.parametrize(
    ("error", "tag", "reason", "event", "note"),
    [
        (UnknownImageError("no entry"), "c", "ErrImagePull", "Failed", "Failed to pull image: no entry"),
        (MissingReferenceError("no map"), "c", "CreateContainerConfigError", "Failed", "Error: no map"),
        (
            MissingReferenceError("no map"),
            "",
            "CreateContainerConfigError",
            "FailedMount",
            "MountVolume.SetUp failed: no map",
        ),
        (
            SandboxError("no namespaces"),
            "",
            "CreatePodSandboxError",
            "FailedCreatePodSandBox",
            "Failed to create pod sandbox: no namespaces",
        ),
        (OSError("disk full"), "c", "CreateContainerError", "Failed", "Error: disk full"),
    ],
)
def test_a_step_that_fails_is_told_in_the_status_and_as_an_event(
    error: Exception, tag: str, reason: str, event: str, note: str
) -> None:
    trouble = find_troubles(failed(error, tag))[tag]
    assert (trouble.reason, trouble.message) == (reason, str(error))
    (told,) = build_failure_events(failed(error, tag))
    assert (told.type, told.reason, told.note) == ("Warning", event, note)


def test_a_start_is_told_as_three_events() -> None:
    events = build_start_events(build_pod(container()).spec.containers[0], node_events.pulled("busybox"))
    assert [(event.reason, event.note) for event in events] == [
        ("Pulled", 'Container image "busybox" already present on machine'),
        ("Created", "Created container: c"),
        ("Started", "Started container c"),
    ]


def test_a_stop_is_told_once() -> None:
    stop = Stop("id", "c", 0.0, "Stopping container c")
    told = build_report(stop, is_repeated=False).success
    assert told is not None
    assert (told.reason, told.note) == ("Killing", "Stopping container c")
    assert build_report(stop, is_repeated=True) == SILENT


@pytest.mark.parametrize("step", [Prepare(), Dismantle(), Release()])
def test_other_steps_are_not_worth_a_word(step: Step) -> None:
    assert build_report(step, is_repeated=False) == SILENT


def test_a_failure_to_start_is_tagged_with_its_container() -> None:
    assert build_report(Start("c", 0), is_repeated=False).failure_tag == "c"


def news(*runs: Any, known: set[str] | None = None) -> list[str]:
    where = situation(build_pod(), *runs)
    status = build_status(where, Place(host_address="h"))
    return [event.note for event in build_news(where, status, set() if known is None else known)]


def test_back_off_is_news_and_a_command_that_is_missing_only_once() -> None:
    crash, again = ended(code=1), ended(code=1, attempt=1, at=running().started_at + 1)
    assert news(crash) == []
    assert news(crash, again) == ["Back-off restarting failed container c in pod p"]
    known: set[str] = set()
    lost = ended(code=127, error="the command 'x' was not found")
    assert news(lost, known=known) == ["Error: the command 'x' was not found"]
    assert news(lost, known=known) == []


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (ProbeResult.FAILURE, "Readiness probe failed: why"),
        (ProbeResult.UNKNOWN, "Readiness probe errored and resulted in unknown state: why"),
    ],
)
def test_unhealthy_says_which_probe_and_what_it_heard(verdict: ProbeResult, expected: str) -> None:
    assert node_events.unhealthy(ProbeKind.READINESS, verdict, "why").note == expected


def test_a_note_is_never_longer_than_events_may_have() -> None:
    assert len(node_events.unhealthy(ProbeKind.LIVENESS, ProbeResult.FAILURE, "x" * 5000).note) == 1024
