"""What Serve says of clusters whose applications the status leaves out: during a move the operator asks one of them."""

import time
from collections.abc import Mapping

from heliostat.kube.jsontree import JsonObject
from heliostat.local.cluster_token import fetch_token
from heliostat.local.service_dashboard import ServiceDashboard
from heliostat.local.session import Session
from heliostat.operator.rayservice.calls import understand
from heliostat.plan.rayservice.answers import ServeInfo
from heliostat.plan.rayservice.observed import ACTIVE, PENDING
from heliostat.plan.rayservice.serving import describe_applications
from heliostat.runtime.errors import ApiError

_EVERY_SECONDS = 3.0


class ServiceApplications:
    """Asks now and then; in between, and while nobody answers, what was told last counts."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._told: dict[str, dict[str, JsonObject]] = {}
        self._next: dict[str, float] = {}

    async def ask(
        self, service: JsonObject, clusters: Mapping[str, JsonObject]
    ) -> Mapping[str, Mapping[str, JsonObject]]:
        """By cluster and application, as a status shows them."""
        for name in _find_untold(service.get("status") or {}):
            if name in clusters and time.monotonic() >= self._next.get(name, 0.0):
                self._next[name] = time.monotonic() + _EVERY_SECONDS
                await self._fetch(clusters[name])
        return self._told

    async def _fetch(self, cluster: JsonObject) -> None:
        try:
            found = await ask_serve(self._session, cluster, _EVERY_SECONDS)
        except ApiError:
            return
        if found is not None:
            self._told[cluster["metadata"]["name"]] = describe_applications(found)


async def ask_serve(session: Session, cluster: JsonObject, seconds: float) -> ServeInfo | None:
    """None while nobody could be asked. Raises ApiError."""
    head = ((cluster.get("status") or {}).get("head") or {}).get("serviceName")
    if not head:
        return None
    token = await fetch_token(session, cluster)
    dashboard = ServiceDashboard(session.transport, cluster["metadata"]["namespace"], head, token, seconds)
    return understand(await dashboard.fetch_applications())


def _find_untold(status: JsonObject) -> list[str]:
    slots = (status.get(slot) or {} for slot in (ACTIVE, PENDING))
    return [slot["rayClusterName"] for slot in slots if slot.get("rayClusterName") and not _tells(slot)]


def _tells(slot: JsonObject) -> bool:
    return bool(slot.get("applicationStatuses"))
