"""What a running operator is told, beyond the settings that decisions read."""

from msgspec import Struct

from heliostat.api.settings import Settings
from heliostat.runtime.host import HostSettings

WORKERS = 32  # keys at the same time; they wait for the server, not for each other
# For one cluster. More would only stand before the scheduler and the nodes, with every other cluster behind them
# (docs/decisions/0012 has what a small cluster waits beside a thousand Pods).
PARALLEL_WRITES = 2
SHORT_PLAN = 32  # writes; a longer plan leaves the server air for others


class OperatorOptions(Struct, frozen=True, kw_only=True):
    settings: Settings = Settings()
    namespaces: tuple[str, ...] = ()  # empty: all
    has_jobs: bool = True  # RayJobs are looked after, too
    has_services: bool = True  # RayServices are looked after, too
    instance: str = "heliostat"  # who reports the events
    request_seconds: float = 4.0
    qps: float | None = None  # requests a second that somebody allows; None: as many as the server keeps up with
    burst: int = 1
    has_kuberay_metrics: bool = False  # a series for each object, under KubeRay's names
    host: HostSettings = HostSettings(workers=WORKERS, parallel_writes=PARALLEL_WRITES, short_plan=SHORT_PLAN)
