"""The kinds that are reconciled: one table, and in it one row for each.

Another kind is another row here and a folder of its name in ``desired``, ``plan``, ``explain`` and ``operator``. The
last two are found by that name: ``explain.<kind>.explain`` tells how an object is, ``operator.<kind>.add_controller``
adds what reconciles it.
"""

from typing import Any

from heliostat.plan.kind import Kind
from heliostat.plan.raycluster.kind import RAY_CLUSTER
from heliostat.plan.raycronjob.kind import RAY_CRON_JOB
from heliostat.plan.rayjob.kind import RAY_JOB
from heliostat.plan.rayservice.kind import RAY_SERVICE

KINDS: dict[str, Kind[Any, Any, Any]] = {
    kind.resource.kind: kind for kind in (RAY_CLUSTER, RAY_JOB, RAY_SERVICE, RAY_CRON_JOB)
}
