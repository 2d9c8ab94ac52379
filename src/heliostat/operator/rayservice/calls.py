"""What the operator asks of Serve for a RayService: what runs, does a head's proxy take requests, and run this.

A proxy that does not answer may be out of our reach alone, so it is asked a few times before that counts against it.
Differs from KubeRay: rayservice-silent-proxy.
"""

from collections.abc import Awaitable, Callable

from heliostat.kube.plan import Effect
from heliostat.operator.ray_access import Place, RayAccess
from heliostat.plan.rayservice.answers import ApplicationInfo, AskProxy, AskServe, DeploymentInfo, ServeInfo
from heliostat.plan.rayservice.serving import CONFIGURE
from heliostat.ray.answers import Application, ServeDetails
from heliostat.ray.dashboard import is_proxy_healthy
from heliostat.runtime.effects import Effects
from heliostat.runtime.errors import UnavailableError

_UNNAMED = "default"
MOST_SILENCES = 4  # of one proxy, one after the other, and it takes no requests
MOST_READ = 5000  # reports; one that is forgotten is read again
MOST_SILENT = 1000  # proxies; forgetting one delays a decision


class ServeCalls:
    def __init__(self, access: RayAccess) -> None:
        self._access = access
        self._read: dict[str, tuple[bytes, ServeInfo]] = {}  # by dashboard: the last report, and what it means
        self._silences: dict[str, int] = {}  # of proxies, by the UID of the Pod

    def register(self, effects: Effects) -> None:
        effects[CONFIGURE] = self._configure

    def ask_serve(self, namespace: str, question: AskServe) -> Callable[[], Awaitable[ServeInfo]]:
        async def ask() -> ServeInfo:
            dashboard = await self._access.open(Place(namespace, question.address, question.secret))
            text = await dashboard.fetch_applications_text()
            place = f"{namespace}/{question.address}"
            known = self._read.get(place)
            if known is None or known[0] != text:
                known = text, understand(dashboard.read_applications(text))
                if len(self._read) >= MOST_READ:
                    self._read.clear()
                self._read[place] = known
            return known[1]

        return ask

    def ask_proxy(self, namespace: str, question: AskProxy) -> Callable[[], Awaitable[bool]]:
        async def ask() -> bool:
            way = self._access.way_to_pod(namespace, question.pod, question.ip, question.port)
            is_healthy = await is_proxy_healthy(way)
            if is_healthy is not None:
                self._silences.pop(question.uid, None)
                return is_healthy
            if self._hear_nothing(question.uid) < MOST_SILENCES:
                raise UnavailableError(f"the Serve proxy of Pod {question.pod} does not answer")
            return False

        return ask

    def _hear_nothing(self, uid: str) -> int:
        """How often now, one after the other."""
        if len(self._silences) >= MOST_SILENT:
            self._silences.clear()
        self._silences[uid] = self._silences.get(uid, 0) + 1
        return self._silences[uid]

    async def _configure(self, effect: Effect) -> None:
        payload = effect.payload
        dashboard = await self._access.open(Place(payload["namespace"], payload["address"], payload["secret"]))
        await dashboard.put_applications(payload["config"])


def understand(details: ServeDetails) -> ServeInfo:
    """As the planner takes it."""
    applications = {name or _UNNAMED: _understand(each) for name, each in details.applications.items()}
    times = [each.last_deployed_time_s or 0.0 for each in details.applications.values()]
    return ServeInfo(applications, max(times, default=0.0), details.target_capacity)


def _understand(application: Application) -> ApplicationInfo:
    return ApplicationInfo(
        status=application.status,
        message=application.message,
        deployments={name: DeploymentInfo(each.status, each.message) for name, each in application.deployments.items()},
        config=application.deployed_app_config,
    )
