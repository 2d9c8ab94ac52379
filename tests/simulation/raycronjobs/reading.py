"""What the laws of RayCronJobs read from the state: whose a RayJob is, and the tick it was made for."""

from collections.abc import Iterator

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import parse_timestamp
from heliostat.testing.simulation.state import State
from simulation.rayclusters.reading import controller_of, is_terminating, uid_of
from simulation.rayjobs.laws import OVER, phase_of

SCHEDULED = "ray.io/cronjob-scheduled-timestamp"
POLICY = "heliostat.dev/"
ALLOW, FORBID, REPLACE = "Allow", "Forbid", "Replace"


def owner_uid(job: JsonObject) -> str:
    """Of its RayCronJob; empty without one."""
    owner = controller_of(job)
    return str(owner["uid"]) if owner is not None and owner["kind"] == "RayCronJob" else ""


def find_owner(state: State, job: JsonObject) -> JsonObject | None:
    return next((cron for cron in state.ever("raycronjobs") if uid_of(cron) == owner_uid(job)), None)


def tick_of(job: JsonObject) -> float:
    return parse_timestamp(job["metadata"]["annotations"][SCHEDULED])


def last_tick(cron: JsonObject) -> float | None:
    told = (cron.get("status") or {}).get("lastScheduleTime")
    return None if told is None else parse_timestamp(told)


def created_at(tree: JsonObject) -> float:
    return parse_timestamp(tree["metadata"]["creationTimestamp"])


def policy_of(cron: JsonObject, name: str) -> str:
    """As the annotation says it; empty without one."""
    return str((cron["metadata"].get("annotations") or {}).get(f"{POLICY}{name}", ""))


def children_ever(state: State, cron: JsonObject) -> Iterator[JsonObject]:
    return (job for job in state.ever("rayjobs") if owner_uid(job) == uid_of(cron))


def is_active(job: JsonObject) -> bool:
    return phase_of(job) not in OVER and not is_terminating(job)


def has_succeeded(job: JsonObject) -> bool:
    return bool((job.get("status") or {}).get("jobStatus") == "SUCCEEDED")
