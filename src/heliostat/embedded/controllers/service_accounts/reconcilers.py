"""The wiring: two controllers that look at every namespace, for its account and for its certificate."""

from collections.abc import Iterable, Sequence

from heliostat.embedded.controllers.service_accounts.decision import (
    DEFAULT_ACCOUNT,
    NamespaceView,
    plan_account,
    plan_certificate,
)
from heliostat.embedded.controllers.views.namespaces import NAMESPACE, NAMESPACES
from heliostat.embedded.controllers.views.root_certificates import ROOT_CERTIFICATE, ROOT_CERTIFICATES
from heliostat.embedded.controllers.views.service_accounts import SERVICE_ACCOUNTS
from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Plan
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, Subject, itself, subject_of


class ServiceAccountReconciler:
    name = "service-account-controller"

    def __init__(self, caches: Caches) -> None:
        self._namespaces = caches.of(NAMESPACES)
        self._accounts = caches.of(SERVICE_ACCOUNTS)

    def sources(self) -> Sequence[Source]:
        return (Source(self._namespaces, itself), Source(self._accounts, _namespace_of_missing))

    def subject(self, key: Key) -> Subject | None:
        found = self._namespaces.get(key)
        return subject_of(found, NAMESPACE.api_version, NAMESPACE.kind) if found is not None else None

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  the reconcilers' common shape
        namespace = self._namespaces.get(key)
        if namespace is None:
            return Plan()
        has_account = self._accounts.get(Key(key.name, DEFAULT_ACCOUNT)) is not None
        return plan_account(NamespaceView(namespace, has_account, None))


class RootCertificateReconciler:
    name = "root-ca-certificate-publisher-controller"

    def __init__(self, caches: Caches, certificate: str) -> None:
        """``certificate`` is PEM text: what Pods verify the API server with."""
        self._namespaces = caches.of(NAMESPACES)
        self._certificates = caches.of(ROOT_CERTIFICATES)
        self._data = {"ca.crt": certificate}

    def sources(self) -> Sequence[Source]:
        return (Source(self._namespaces, itself), Source(self._certificates, _namespace_of))

    def subject(self, key: Key) -> Subject | None:
        found = self._namespaces.get(key)
        return subject_of(found, NAMESPACE.api_version, NAMESPACE.kind) if found is not None else None

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  the reconcilers' common shape
        namespace = self._namespaces.get(key)
        if namespace is None:
            return Plan()
        certificate = self._certificates.get(Key(key.name, ROOT_CERTIFICATE))
        return plan_certificate(NamespaceView(namespace, has_account=True, certificate=certificate), self._data)


def _namespace_of(before: Object | None, after: Object | None) -> Iterable[Key]:
    item = after or before
    return (Key("", item.metadata.namespace),) if item is not None else ()


def _namespace_of_missing(before: Object | None, after: Object | None) -> Iterable[Key]:
    """Only what went away is missed."""
    return _namespace_of(before, None) if after is None else ()
