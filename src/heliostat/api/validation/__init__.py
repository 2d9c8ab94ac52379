"""Whether a ray.io object is accepted, with KubeRay's rules in KubeRay's order.

Each ``*_problems`` function is a generator: its first error is KubeRay's verdict (``refusal``), and going on gives
every finding with its path and how to fix it. ``event_of`` frames a finding as the event KubeRay emits; ``advice`` adds
warnings of our own. Whether the tree fits the schema is decided before, in ``heliostat.api.documents``. Rule ids: V-*
(raycluster.md §2), RJ-* (rayjob.md §16), RS-* (rayservice.md §11), CJ-* (raycronjob.md §4), R1-3.n (the step of
raycluster.md §1 that reports it).
"""

from heliostat.api.validation.advice import advice
from heliostat.api.validation.cluster import cluster_problems, spec_problems, status_problems
from heliostat.api.validation.cronjob import cronjob_problems
from heliostat.api.validation.job import job_problems
from heliostat.api.validation.service import service_problems
from heliostat.api.validation.verdict import event_of, refusal

__all__ = [
    "advice",
    "cluster_problems",
    "cronjob_problems",
    "event_of",
    "job_problems",
    "refusal",
    "service_problems",
    "spec_problems",
    "status_problems",
]
