"""Every case that is simulated, by name."""

from heliostat.testing.simulation.exploration import Case
from simulation.garbage_worlds import GARBAGE
from simulation.job_worlds import JOB_CASE
from simulation.rayclusters.worlds import ONE_WORKLOAD, RAYCLUSTERS
from simulation.replicaset_worlds import LEADERS_CASE, REPLICASETS

CASES: dict[str, Case] = {case.name: case for case in (REPLICASETS, LEADERS_CASE, JOB_CASE, GARBAGE, RAYCLUSTERS)}

ALL_CASES: dict[str, Case] = CASES | ONE_WORKLOAD


def crashed_for(name: str) -> tuple[str, ...]:
    """The cases that die at every call: a seed chooses among the workloads of RayClusters, there each has its own."""
    return tuple(ONE_WORKLOAD) if name == RAYCLUSTERS.name else (name,)
