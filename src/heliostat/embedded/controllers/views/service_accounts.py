"""ServiceAccounts: that they are there."""

from heliostat.kube.objects import Object
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.cache import CachedKind

SERVICE_ACCOUNT = ResourceType("v1", "ServiceAccount", "serviceaccounts")


class ServiceAccount(Object, frozen=True):
    pass


SERVICE_ACCOUNTS: CachedKind[ServiceAccount] = CachedKind(SERVICE_ACCOUNT, ServiceAccount)
