"""What built-in kinds go through on their way into the store, besides what every kind goes through.

``admit`` comes before an object is judged and may complete it; ``charge`` comes last and may only refuse; ``written``
and ``abandon`` tell how it ended. ServiceAccounts and the protection of storage in use need somebody who makes accounts
and takes finalizers off, so both are switched on only where controllers run.
"""

from collections.abc import Callable

import msgspec
from msgspec import Struct

from heliostat.embedded.kinds.pods.pod_resources import read_amounts
from heliostat.embedded.kinds.registry import rules_of
from heliostat.embedded.kinds.unserved import unserved_cautions
from heliostat.embedded.refusals import forbidden
from heliostat.embedded.server.admission.limit_range_admission import (
    check_claim_limits,
    check_pod_limits,
    fill_limits,
    limits_of,
)
from heliostat.embedded.server.admission.pod_admission import (
    admit_priority,
    admit_runtime_class,
    check_default_class,
    check_overhead,
    keep_priority,
    tolerate_failing_nodes,
)
from heliostat.embedded.server.admission.quota_admission import QUOTAS, QuotaAdmission
from heliostat.embedded.server.admission.service_account_admission import admit_account, wait_for_account
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.server.nodes.service_addresses import SERVICES, ServiceAddresses
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.quantity import ZERO as _NOTHING

PODS = "pods"
CLAIMS = "persistentvolumeclaims"
_PROTECTED = {CLAIMS: "kubernetes.io/pvc-protection", "persistentvolumes": "kubernetes.io/pv-protection"}
_STORAGE_CLASSES = "storageclasses.storage.k8s.io"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class AdmissionOptions(Struct, frozen=True, kw_only=True):
    service_accounts: bool = False
    storage_protection: bool = False
    tells_unserved: bool = False  # warn of what is kept and not carried out


class KindAdmission:
    def __init__(
        self,
        store: Store,
        quota_resource: Resource,
        authority: Authority,
        on_bug: Callable[[BaseException], None],
        options: AdmissionOptions | None = None,
    ) -> None:
        self._store = store
        self._authority = authority
        self._options = options or AdmissionOptions()
        self._addresses = ServiceAddresses(authority.random_index)
        self._addresses.rebuild(store)
        self._quotas = QuotaAdmission(store, quota_resource, authority.now, on_bug)

    async def wait_for_parts(self, new: JsonObject, resource: Resource) -> None:
        """Until what a new object needs, and somebody else is about to make, is there."""
        if self._options.service_accounts and resource.storage_name == PODS:
            await wait_for_account(new, self._store)

    def admit(self, new: JsonObject, old: JsonObject | None, resource: Resource) -> None:
        if resource.is_custom:
            return
        name = resource.storage_name
        if name == PODS:
            self._admit_pod(new, old)
        elif name == SERVICES:
            self._addresses.admit(new, old)
        elif old is None:
            self._admit_new(new, name)
        if name == "priorityclasses.scheduling.k8s.io":
            check_default_class(new, old, self._store)
        elif name == QUOTAS:
            self._quotas.complete(new, old)
        rules = rules_of(name)
        if old is None and rules.start is not None:
            rules.start(new)

    def find_cautions(self, tree: JsonObject, resource: Resource, subresource: str = "") -> list[str]:
        """What nobody will do about the object, for whoever writes it."""
        if resource.is_custom or not self._options.tells_unserved:
            return []
        return unserved_cautions(tree, resource.storage_name, subresource)

    def _admit_pod(self, pod: JsonObject, old: JsonObject | None) -> None:
        if old is not None:
            keep_priority(pod, old)
            if pod["spec"] != old["spec"]:
                tolerate_failing_nodes(pod)
            return
        fill_limits(pod, limits_of(self._store, pod["metadata"]["namespace"]))
        if self._options.service_accounts:
            admit_account(pod, self._store, self._authority.random_index)
        admit_priority(pod, self._store)
        tolerate_failing_nodes(pod)
        admit_runtime_class(pod, self._store)

    def _admit_new(self, tree: JsonObject, storage_name: str) -> None:
        if storage_name in _PROTECTED and self._options.storage_protection:
            finalizers = tree["metadata"].setdefault("finalizers", [])
            if _PROTECTED[storage_name] not in finalizers:
                finalizers.append(_PROTECTED[storage_name])
        if storage_name == CLAIMS:
            self._choose_storage_class(tree["spec"])
        elif storage_name == "nodes":
            taints = tree["spec"].setdefault("taints", [])
            if all(taint.get("key") != _NOT_READY["key"] for taint in taints):
                taints.append(dict(_NOT_READY))

    def _choose_storage_class(self, spec: JsonObject) -> None:
        if spec.get("storageClassName") is not None:
            return
        for record in self._store.page(Scope(_STORAGE_CLASSES)).records:
            annotations = msgspec.json.decode(record.body)["metadata"].get("annotations") or {}
            if annotations.get(_DEFAULT_CLASS) == "true":
                spec["storageClassName"] = record.key.name
                return

    def _check_growth(self, claim: JsonObject, old: JsonObject) -> None:
        """A claim grows only where its storage class says so."""
        wanted, had = (read_amounts((tree["spec"].get("resources") or {}).get("requests")) for tree in (claim, old))
        if wanted.get("storage", _NOTHING) <= had.get("storage", _NOTHING):
            return
        record = self._store.get(Key(_STORAGE_CLASSES, "", claim["spec"].get("storageClassName") or ""))
        if record is None or not msgspec.json.decode(record.body).get("allowVolumeExpansion"):
            why = (
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must"
                " support resize"
            )
            raise forbidden(CLAIMS, "", claim["metadata"]["name"], why)

    async def charge(self, new: JsonObject, old: JsonObject | None, resource: Resource, *, dry_run: bool) -> None:
        if old is None and resource.storage_name == PODS:
            check_pod_limits(new, limits_of(self._store, new["metadata"]["namespace"]))
            check_overhead(new, self._store)
        elif resource.storage_name == CLAIMS:
            check_claim_limits(new, limits_of(self._store, new["metadata"]["namespace"]))
            if old is not None:
                self._check_growth(new, old)
        if resource.is_namespaced:
            await self._quotas.charge(new, old, resource, dry_run=dry_run)

    def written(self, tree: JsonObject, resource: Resource, *, deleted: bool) -> None:
        if resource.storage_name == SERVICES:
            self._addresses.written(tree, deleted=deleted)
        if resource.is_namespaced:
            self._quotas.written(tree, resource)

    def abandon(self, new: JsonObject, old: JsonObject | None, resource: Resource) -> None:
        """The write came to nothing, or was only tried out."""
        if resource.storage_name == SERVICES:
            self._addresses.abandon(new, old)
        if resource.is_namespaced:
            self._quotas.abandon(new, resource)
