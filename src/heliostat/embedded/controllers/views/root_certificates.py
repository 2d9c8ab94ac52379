"""The ConfigMaps with the certificate that Pods trust the API server by; no others are watched."""

import msgspec

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

CONFIG_MAP = ResourceType("v1", "ConfigMap", "configmaps")
ROOT_CERTIFICATE = "kube-root-ca.crt"


class RootCertificate(Object, frozen=True):
    data: dict[str, str] = msgspec.field(default_factory=dict)


ROOT_CERTIFICATES: CachedKind[RootCertificate] = CachedKind(
    CONFIG_MAP, RootCertificate, field_selector=f"metadata.name={ROOT_CERTIFICATE}"
)
