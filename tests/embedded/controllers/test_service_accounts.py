"""Every namespace has a ServiceAccount and the API server's certificate, and gets them back."""

import pytest

from embedded.controllers.plan_world import World
from heliostat.embedded.controllers.service_accounts.reconcilers import (
    RootCertificateReconciler,
    ServiceAccountReconciler,
)
from heliostat.embedded.controllers.views.namespaces import NAMESPACES
from heliostat.embedded.controllers.views.root_certificates import ROOT_CERTIFICATES
from heliostat.embedded.controllers.views.service_accounts import SERVICE_ACCOUNTS
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan, Ref, ref_of

KEY = Key("", "ns")
CERTIFICATE_REF = Ref("v1", "ConfigMap", "ns", "kube-root-ca.crt")


class Namespaces(World):
    def __init__(self, phase: str = "Active", **metadata: str) -> None:
        super().__init__(NAMESPACES, SERVICE_ACCOUNTS, ROOT_CERTIFICATES)
        self.accounts = ServiceAccountReconciler(self.caches)
        self.certificates = RootCertificateReconciler(self.caches, "PEM")
        self.add(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "ns", "finalizers": ["x"], **metadata},
                "status": {"phase": phase},
            }
        )

    def look(self) -> tuple[Plan, Plan]:
        return self.reconcile(self.accounts, KEY), self.reconcile(self.certificates, KEY)


def test_a_new_namespace_gets_both() -> None:
    world = Namespaces()
    world.look()
    assert ref_of(world.one("ServiceAccount")) == Ref("v1", "ServiceAccount", "ns", "default")
    found = world.trees[CERTIFICATE_REF]
    assert found["data"] == {"ca.crt": "PEM"}
    assert found["metadata"]["annotations"]["kubernetes.io/description"].startswith("Contains a CA bundle")
    assert world.look() == (Plan(), Plan())


def test_they_come_back() -> None:
    world = Namespaces()
    world.look()
    woken: list[Key] = []
    _namespaces, accounts = world.accounts.sources()
    accounts.changes.subscribe(lambda before, after: woken.extend(accounts.keys_of(before, after)))
    _namespaces, certificates = world.certificates.sources()
    certificates.changes.subscribe(lambda before, after: woken.extend(certificates.keys_of(before, after)))
    woken.clear()
    for tree in (*world.of("ServiceAccount"), *world.of("ConfigMap")):
        world.remove(ref_of(tree))
    assert woken == [KEY, KEY]
    world.look()
    assert len(world.trees) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"data": {"ca.crt": "other"}},
        {"data": {"more": "x"}},
        {"data": None},
        {"metadata": {"annotations": {"kubernetes.io/description": None}}},
    ],
)
def test_a_certificate_that_was_changed_is_put_right(changes: JsonObject) -> None:
    world = Namespaces()
    world.look()
    before = world.trees[CERTIFICATE_REF]
    world.change(CERTIFICATE_REF, **changes)
    world.look()
    after = world.trees[CERTIFICATE_REF]
    assert after["data"] == before["data"]
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]
    assert world.look() == (Plan(), Plan())


def test_a_namespace_that_is_being_deleted_gets_nothing() -> None:
    world = Namespaces(phase="Terminating", deletionTimestamp="2026-01-01T00:00:00Z")
    assert world.look() == (Plan(), Plan())


def test_an_account_waits_until_the_namespace_is_active() -> None:
    world = Namespaces(phase="")
    assert world.look()[0] == Plan()
