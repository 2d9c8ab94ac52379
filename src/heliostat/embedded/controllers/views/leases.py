"""Leases of nodes as the controllers see them: who renewed when."""

from msgspec import Struct

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

LEASE = ResourceType("coordination.k8s.io/v1", "Lease", "leases")
NODE_LEASE_NAMESPACE = "kube-node-lease"


class LeaseSpec(Struct, frozen=True, rename="camel"):
    holder_identity: str = ""
    renew_time: str | None = None


class Lease(Object, frozen=True, rename="camel"):
    spec: LeaseSpec = LeaseSpec()


NODE_LEASES: CachedKind[Lease] = CachedKind(LEASE, Lease, namespace=NODE_LEASE_NAMESPACE)
