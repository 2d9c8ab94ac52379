"""What ``heliostat plan`` says of code in a ConfigMap: a service whose cluster stays does not load it again."""

from collections.abc import Sequence

from msgspec import structs

from heliostat.cli.cluster_access import Cluster
from heliostat.cli.errors import CommandError
from heliostat.kube.documents import Document
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.plan import Plan
from heliostat.kube.resource_types import ResourceType
from heliostat.kube.titles import name_in, text_in_metadata
from heliostat.operator.kinds import RAY_SERVICE
from heliostat.plan.against import Planned
from heliostat.plan.because import Hold as CommonHold
from heliostat.plan.rayservice.loaded import CONFIG_MAP, tell_loaded
from heliostat.plan.rayservice.reasons import Hold
from heliostat.runtime.errors import RefusedError

_CONFIG_MAP = ResourceType("v1", CONFIG_MAP, "configmaps")
_FIELDS = ("data", "binaryData")


async def add_loaded(cluster: Cluster, item: Planned, documents: Sequence[Document]) -> Planned:
    """With a note for each ConfigMap of the same files that changes."""
    tree = item.document.tree
    if tree.get("kind") != RAY_SERVICE.kind or item.plan is None or not _stays(item.plan):
        return item
    given = [document.tree for document in documents if document.tree.get("kind") == CONFIG_MAP]
    changing = [name_in(each) for each in given if await _changes(cluster, each)]
    notes = (tell_loaded(tree, CONFIG_MAP, name) for name in changing)
    return structs.replace(item, notes=(*item.notes, *filter(None, notes)))


def _stays(plan: Plan) -> bool:
    """It does not move to a cluster that reads it anew, and is not refused."""
    return not any(wait.reason in (Hold.UPGRADE, CommonHold.REFUSED) for wait in plan.waits)


async def _changes(cluster: Cluster, document: JsonObject) -> bool:
    """False for one that is not there yet, and where it may not be read."""
    try:
        live = await cluster.fetch_object(_CONFIG_MAP, name_in(document), text_in_metadata(document, "namespace"))
    except (CommandError, RefusedError):
        return False
    return any((document.get(field) or {}) != (live.get(field) or {}) for field in _FIELDS)
