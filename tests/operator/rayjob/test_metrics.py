"""KubeRay's metrics of RayJobs (rayjob.md §18): what is told when, and that nothing stays of a job that is gone."""

from typing import Any

import msgspec
import pytest

from heliostat.kube.objects import Metadata
from heliostat.operator.kinds import WholeObject
from heliostat.operator.rayjob.metrics import JobMetrics
from heliostat.runtime.metrics import Registry

START = 1_800_000_000.0
SERIES = 'kuberay_job_execution_duration_seconds{name="job",namespace="ns",uid="u",'


class Followed:
    """A cache of one job, as far as metrics listen to it."""

    def __init__(self) -> None:
        self.now = START
        self.registry = Registry()
        self._last: WholeObject | None = None
        self.metrics = JobMetrics(self.registry, [self], lambda: self.now)  # type: ignore[list-item]

    def subscribe(self, listener: Any) -> None:
        self._listener = listener

    def show(self, phase: str, failed: int = 0, uid: str = "u") -> None:
        status = {"jobDeploymentStatus": phase, "startTime": "2027-01-15T08:00:00Z", "failed": failed}
        metadata = Metadata(name="job", namespace="ns", uid=uid)
        job = WholeObject(metadata, status=msgspec.Raw(msgspec.json.encode(status)))
        self._listener(self._last, job)
        self._last = job

    def remove(self) -> None:
        self._listener(self._last, None)

    def text(self) -> str:
        return self.registry.render()


@pytest.mark.parametrize(
    ("before", "after", "failed", "labels"),
    [
        ("Running", "Complete", 0, 'job_deployment_status="Complete",retry_count="0"'),
        ("Running", "Failed", 0, 'job_deployment_status="Failed",retry_count="0"'),
        ("Running", "Retrying", 2, 'job_deployment_status="Retrying",retry_count="2"'),
        ("Initializing", "Running", 0, None),
    ],
)
def test_how_long_an_attempt_took_is_told_when_it_ends(
    before: str, after: str, failed: int, labels: str | None
) -> None:
    followed = Followed()
    followed.show(before, failed)
    followed.now += 42
    followed.show(after, failed + 1)
    line = next((line for line in followed.text().splitlines() if line.startswith(SERIES)), None)
    assert line == (f"{SERIES}{labels}}} 42" if labels else None)


def test_each_job_is_counted_with_its_phase_and_forgotten_when_it_is_gone() -> None:
    followed = Followed()
    followed.show("Running")
    assert 'kuberay_job_info{name="job",namespace="ns",uid="u"} 1' in followed.text()
    assert 'uid="u",deployment_status="Running"} 1' in followed.text()
    followed.remove()
    assert 'name="job"' not in followed.text()


def test_another_job_of_the_name_has_no_past() -> None:
    followed = Followed()
    followed.show("Running")
    followed.show("Complete")
    followed.show("Complete", uid="v")
    assert SERIES not in followed.text()
