"""When a Pod was over, and how long its successor has to wait."""

from typing import Any

import pytest
from msgspec import convert

from heliostat.embedded.controllers.jobs.backoff import (
    LOOK_SECONDS,
    NOTHING_FINISHED,
    finish_time,
    note_finishes,
    remaining_wait,
    remaining_wait_of_index,
)
from heliostat.embedded.controllers.views.jobs import Job
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.timestamps import format_timestamp

NOW = 1_700_000_000.0
JOB = convert({"metadata": {"name": "j"}}, Job)
TRACKING = "batch.kubernetes.io/job-tracking"


def at(seconds: float) -> str:
    return format_timestamp(NOW + seconds)


def ended(*seconds: float | None) -> list[dict[str, Any]]:
    return [{"name": f"c{place}", "state": _state(moment)} for place, moment in enumerate(seconds)]


def _state(moment: float | None) -> dict[str, Any]:
    return {"running": {}} if moment is None else {"terminated": {"finishedAt": at(moment)}}


def pod(name: str = "p", phase: str = "Failed", metadata: Any = None, **status: Any) -> Pod:
    meta = {"name": name, "uid": name, "creationTimestamp": at(-100), "finalizers": [TRACKING], **(metadata or {})}
    spec = {"initContainers": [{"name": "c9", "restartPolicy": "Always"}, {"name": "init"}]}
    return convert({"metadata": meta, "spec": spec, "status": {"phase": phase, **status}}, Pod)


NOT_READY = [{"type": "Ready", "status": "False", "lastTransitionTime": at(-7)}]


@pytest.mark.parametrize(
    ("of", "moment"),
    [
        (pod(containerStatuses=ended(-5, -3)), -3),
        (pod(containerStatuses=ended(-5), initContainerStatuses=[{**ended(-2)[0], "name": "c9"}]), -2),
        (pod(containerStatuses=ended(-5), initContainerStatuses=[{**ended(-2)[0], "name": "init"}]), -5),
        (pod(containerStatuses=ended(-5, None), conditions=NOT_READY), -7),
        (pod(metadata={"deletionTimestamp": at(20), "deletionGracePeriodSeconds": 30}), -10),
        (pod(metadata={"deletionTimestamp": at(20)}), 20),
        (pod(), -100),
    ],
)
def test_when_a_pod_was_over(of: Pod, moment: float) -> None:
    assert finish_time(of) == NOW + moment


@pytest.mark.parametrize(
    ("failures", "ago", "wait"),
    [(0, 0, 0), (1, 0, 10), (1, 4, 6), (1, 10, 0), (1, 99, 0), (2, 0, 20), (6, 0, 320), (7, 0, 600), (500, 0, 600)],
)
def test_the_wait_doubles_up_to_ten_minutes(failures: int, ago: float, wait: float) -> None:
    assert remaining_wait(failures, NOW - ago, NOW) == wait


def over(name: str, phase: str, seconds: float, **metadata: Any) -> Pod:
    return pod(name, phase, metadata, containerStatuses=ended(seconds))


@pytest.mark.parametrize(
    ("pods", "counted"),
    [
        ([over("a", "Failed", -5), over("b", "Failed", -4)], {"a", "b"}),
        ([over("a", "Failed", -5), over("b", "Succeeded", -4)], set()),
        ([over("a", "Failed", -3), over("b", "Succeeded", -4)], {"a"}),
        ([over("a", "Failed", -4), over("b", "Succeeded", -4)], set()),
        ([over("a", "Failed", -4, finalizers=[])], {"a"}),
        ([over("a", "Failed", -4, finalizers=[], deletionTimestamp=at(-5))], set()),
        ([over("a", "Running", -4, deletionTimestamp=at(-5))], {"a"}),
    ],
)
def test_failures_after_the_last_success_count(pods: list[Pod], counted: set[str]) -> None:
    assert set(note_finishes(NOTHING_FINISHED, JOB, pods).failures) == counted


def test_what_is_gone_is_remembered_and_counts_once() -> None:
    log = note_finishes(NOTHING_FINISHED, JOB, [over("a", "Failed", -5)])
    log = note_finishes(log, JOB, [over("a", "Failed", -5), over("b", "Failed", -2)])
    log = note_finishes(log, JOB, [])
    assert set(log.failures) == {"a", "b"}
    assert log.remaining(NOW) == 18
    assert note_finishes(log, JOB, [over("c", "Succeeded", 0)]).remaining(NOW) == 0


def test_an_index_waits_by_its_own_count() -> None:
    counts = {"job-index-failure-count": "1", "job-index-ignored-failure-count": "2"}
    annotations = {f"batch.kubernetes.io/{name}": value for name, value in counts.items()}
    assert remaining_wait_of_index(over("a", "Failed", 0, annotations=annotations), NOW) == 80
    assert remaining_wait_of_index(None, NOW) == 0


def test_a_failure_that_was_just_seen_is_looked_at_once_more_before_it_is_replaced() -> None:
    """A Pod of a lost node is declared failed and asked to go in two writes: the second one says when it was over."""
    log = note_finishes(NOTHING_FINISHED, JOB, [over("a", "Failed", -500)], NOW)
    assert log.remaining(NOW) == LOOK_SECONDS
    assert note_finishes(log, JOB, [over("a", "Failed", -500)], NOW + 0.5).remaining(NOW + 0.5) == LOOK_SECONDS - 0.5
    assert log.remaining(NOW + LOOK_SECONDS) == 0
