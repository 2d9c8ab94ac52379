"""PersistentVolumeClaims: what somebody asks for, and what they got."""

from typing import Any

from msgspec import Struct

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

CLAIM = ResourceType("v1", "PersistentVolumeClaim", "persistentvolumeclaims")


class Requested(Struct, frozen=True):
    requests: dict[str, str | int] = {}


class ClaimSpec(Struct, frozen=True, rename="camel"):
    access_modes: tuple[str, ...] = ()
    selector: dict[str, Any] | None = None
    resources: Requested = Requested()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"


class ClaimStatus(Struct, frozen=True, rename="camel"):
    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: dict[str, str | int] = {}


class Claim(Object, frozen=True, rename="camel"):
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


CLAIMS: CachedKind[Claim] = CachedKind(CLAIM, Claim)
