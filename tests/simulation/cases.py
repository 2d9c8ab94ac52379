"""Every case that is simulated, by name."""

from heliostat.testing.simulation.exploration import Case
from simulation.garbage_worlds import GARBAGE
from simulation.job_worlds import JOB_CASE
from simulation.replicaset_worlds import LEADERS_CASE, REPLICASETS

CASES: dict[str, Case] = {case.name: case for case in (REPLICASETS, LEADERS_CASE, JOB_CASE, GARBAGE)}
