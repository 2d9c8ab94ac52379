"""What a running operator is told, beyond the settings that decisions read."""

from msgspec import Struct

from heliostat.api.settings import Settings
from heliostat.runtime.host import HostSettings

WORKERS = 32  # keys at the same time; they wait for the server, not for each other
PARALLEL_WRITES = 4  # for one cluster: more than a scheduler keeps up with, and little for others to wait behind


class OperatorOptions(Struct, frozen=True, kw_only=True):
    settings: Settings = Settings()
    namespaces: tuple[str, ...] = ()  # empty: all
    instance: str = "heliostat"  # who reports the events
    request_seconds: float = 4.0
    has_kuberay_metrics: bool = False  # a series for each object, under KubeRay's names
    host: HostSettings = HostSettings(workers=WORKERS, parallel_writes=PARALLEL_WRITES)
