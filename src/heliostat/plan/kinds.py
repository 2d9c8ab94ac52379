"""The kinds that are reconciled: one table, and in it one row for each.

Another kind is another row here and a folder of its name in ``desired``, ``plan``, ``explain`` and ``operator``. The
last two are found by that name: ``explain.<kind>.explain`` tells how an object is, ``operator.<kind>.add_controller``
adds what reconciles it. A row is loaded when it is first asked for: who renders a RayCluster needs no RayService.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from heliostat.plan.kind import Kind

_ROWS = {
    "RayCluster": ("heliostat.plan.raycluster.kind", "RAY_CLUSTER"),
    "RayJob": ("heliostat.plan.rayjob.kind", "RAY_JOB"),
    "RayService": ("heliostat.plan.rayservice.kind", "RAY_SERVICE"),
    "RayCronJob": ("heliostat.plan.raycronjob.kind", "RAY_CRON_JOB"),
}


class Kinds(Mapping[str, Kind[Any, Any, Any]]):
    """By the name of the kind; every row in the order of the table."""

    def __getitem__(self, name: str) -> Kind[Any, Any, Any]:
        module, row = _ROWS[name]
        kind: Kind[Any, Any, Any] = getattr(import_module(module), row)
        return kind

    def __contains__(self, name: object) -> bool:
        return name in _ROWS

    def __iter__(self) -> Iterator[str]:
        return iter(_ROWS)

    def __len__(self) -> int:
        return len(_ROWS)


KINDS = Kinds()
