"""Which columns an object has: by its resource, or by its kind where a subresource answers with another one."""

from collections.abc import Callable
from functools import lru_cache

from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.tables.access import ACCESS
from heliostat.embedded.server.tables.autoscaling import AUTOSCALING, SCALE_COLUMNS
from heliostat.embedded.server.tables.cluster import CLUSTER
from heliostat.embedded.server.tables.columns import DEFAULT, Columns
from heliostat.embedded.server.tables.custom import custom_columns
from heliostat.embedded.server.tables.extensions import EXTENSIONS
from heliostat.embedded.server.tables.networking import NETWORKING
from heliostat.embedded.server.tables.pods import POD_COLUMNS, pod_conditions
from heliostat.embedded.server.tables.storage import STORAGE
from heliostat.embedded.server.tables.workloads import WORKLOADS
from heliostat.kube.jsontree import JsonObject

# By the store's name of the resource.
BUILTIN: dict[str, Columns] = {
    "pods": POD_COLUMNS,
    **WORKLOADS,
    **NETWORKING,
    **CLUSTER,
    **STORAGE,
    **ACCESS,
    **AUTOSCALING,
    **EXTENSIONS,
}

# What a row says about its object beside the cells.
ROW_CONDITIONS: dict[str, Callable[[JsonObject], list[JsonObject]]] = {"pods": pod_conditions}

_custom = lru_cache(maxsize=256)(custom_columns)


def columns_of(resource: Resource, kind: str) -> Columns:
    """``kind`` is that of the object itself, which a subresource such as ``scale`` makes another one."""
    if kind == "Scale":
        return SCALE_COLUMNS
    if kind not in (resource.kind, resource.list_kind):
        return DEFAULT
    return _custom(resource.columns) if resource.is_custom else BUILTIN.get(resource.storage_name, DEFAULT)
