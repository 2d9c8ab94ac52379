"""Every case that is simulated, by name."""

from heliostat.testing.simulation.exploration import Case
from simulation.errand_worlds import ERRAND_CASE
from simulation.garbage_worlds import GARBAGE
from simulation.job_worlds import JOB_CASE
from simulation.rayclusters.worlds import ONE_WORKLOAD, RAYCLUSTERS
from simulation.raycronjobs.worlds import ONE_CRON, RAYCRONJOBS
from simulation.rayjobs.worlds import ONE_JOB, RAYJOBS
from simulation.rayservices.worlds import ONE_SERVICE, RAYSERVICES
from simulation.replicaset_worlds import LEADERS_CASE, REPLICASETS
from simulation.statefulset_worlds import STATEFULSETS

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        REPLICASETS,
        LEADERS_CASE,
        STATEFULSETS,
        JOB_CASE,
        GARBAGE,
        ERRAND_CASE,
        RAYCLUSTERS,
        RAYJOBS,
        RAYCRONJOBS,
        RAYSERVICES,
    )
}

ALL_CASES: dict[str, Case] = CASES | ONE_WORKLOAD | ONE_JOB | ONE_CRON | ONE_SERVICE


_ALONE = {
    RAYCLUSTERS.name: tuple(ONE_WORKLOAD),
    RAYJOBS.name: tuple(ONE_JOB),
    RAYCRONJOBS.name: tuple(ONE_CRON),
    RAYSERVICES.name: tuple(ONE_SERVICE),
}


def crashed_for(name: str) -> tuple[str, ...]:
    """The cases that die at every call: a seed chooses among workloads, there each has its own."""
    return _ALONE.get(name, (name,))
