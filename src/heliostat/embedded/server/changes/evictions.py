"""Evicting a Pod as far as its disruption budget allows.

Rules: a Pod that is not running yet or no longer can always be evicted; else the budget it belongs
to must have room, and is charged before the Pod is deleted; a Pod in two budgets cannot be judged.
"""

from collections.abc import Iterator

import msgspec

from heliostat.embedded.kinds.rules.label_rules import read_selector
from heliostat.embedded.refusals import Cause, RefusedError, bad_request, forbidden
from heliostat.embedded.server.changes.delete_options import DeleteOptions
from heliostat.embedded.server.changes.pod_bindings import with_condition
from heliostat.embedded.server.changes.writes import Writer
from heliostat.embedded.server.changes.writing import WriteOptions
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp

BUDGETS = "poddisruptionbudgets.policy"
_VIOLATION = "Cannot evict pod as it would violate the pod's disruption budget."
_MOST_UNCONFIRMED = 2000


class Evictions:
    def __init__(self, store: Store, writer: Writer, authority: Authority, pods: Resource, budgets: Resource) -> None:
        self._store = store
        self._writer = writer
        self._authority = authority
        self._pods = pods
        self._budgets = budgets

    async def evict(self, eviction: JsonObject, namespace: str, name: str, options: WriteOptions) -> None:
        if (eviction.get("metadata") or {}).get("name") != name:
            raise bad_request("name in URL does not match name in Eviction object")
        how = _read_options(eviction, options)
        pod = self._find_pod(namespace, name)
        if not _needs_no_budget(pod):
            await self._charge_budget(pod, options)
        if not how.dry_run:
            await self._mark_evicted(namespace, name)
        await self._writer.delete(self._pods, namespace, name, how)

    def _find_pod(self, namespace: str, name: str) -> JsonObject:
        record = self._store.get(Key(self._pods.storage_name, namespace, name))
        if record is None:
            raise RefusedError(404, "NotFound", f'pods "{name}" not found', details={"name": name, "kind": "pods"})
        pod: JsonObject = msgspec.json.decode(record.body)
        return pod

    async def _charge_budget(self, pod: JsonObject, options: WriteOptions) -> None:
        budgets = list(self._budgets_of(pod))
        if len(budgets) > 1:
            why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise RefusedError(500, "", why)
        if not budgets or (not _is_ready(pod) and _lets_unhealthy_go(budgets[0])):
            return
        name, now = pod["metadata"]["name"], format_timestamp(self._authority.now())
        await self._writer.change(
            self._budgets,
            pod["metadata"]["namespace"],
            budgets[0]["metadata"]["name"],
            lambda budget: _charged(budget, name, now),
            msgspec.structs.replace(options, subresource="eviction"),
        )

    def _budgets_of(self, pod: JsonObject) -> Iterator[JsonObject]:
        labels = pod["metadata"].get("labels") or {}
        for record in self._store.page(Scope(BUDGETS, pod["metadata"]["namespace"])).records:
            budget = msgspec.json.decode(record.body)
            selector = read_selector((budget.get("spec") or {}).get("selector"))
            if selector is not None and selector.matches(labels):
                yield budget

    async def _mark_evicted(self, namespace: str, name: str) -> None:
        now = format_timestamp(self._authority.now())
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now,
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        options = WriteOptions(subresource="eviction")
        await self._writer.change(self._pods, namespace, name, lambda pod: with_condition(pod, condition), options)


def _read_options(eviction: JsonObject, options: WriteOptions) -> DeleteOptions:
    try:
        how = msgspec.convert(eviction.get("deleteOptions") or {}, DeleteOptions)
    except msgspec.ValidationError as error:
        raise bad_request(f"invalid DeleteOptions: {error}") from None
    if options.dry_run and not how.dry_run:
        how = msgspec.structs.replace(how, dry_run=["All"])
    return how


def _needs_no_budget(pod: JsonObject) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _is_ready(pod: JsonObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each.get("status") == "True" for each in conditions)


def _lets_unhealthy_go(budget: JsonObject) -> bool:
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    wanted = status.get("desiredHealthy", 0)
    return bool(wanted > 0 and status.get("currentHealthy", 0) >= wanted)


def _charged(budget: JsonObject, pod: str, now: str) -> JsonObject:
    metadata, status = budget["metadata"], dict(budget.get("status") or {})
    name, allowed = metadata["name"], status.get("disruptionsAllowed", 0)
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        why = f"The disruption budget {name} is still being processed by the server."
        raise _too_many(why, {"retryAfterSeconds": 10})
    if allowed < 0:
        raise forbidden("poddisruptionbudget", "policy", name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > _MOST_UNCONFIRMED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden("poddisruptionbudget", "policy", name, why)
    if allowed == 0:
        wanted, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        raise _too_many(f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently", {})
    status["disruptionsAllowed"] = allowed - 1
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: now}
    if allowed == 1:
        exhausted = {
            "type": "DisruptionAllowed",
            "status": "False",
            "observedGeneration": metadata.get("generation", 0),
            "lastTransitionTime": now,
            "reason": "InsufficientPods",
            "message": "",
        }
        others = [each for each in status.get("conditions") or () if each["type"] != "DisruptionAllowed"]
        status["conditions"] = [*others, exhausted]
    return {**budget, "status": status}


def _too_many(why: str, details: JsonObject) -> RefusedError:
    cause = Cause("DisruptionBudget", why, "")
    return RefusedError(429, "TooManyRequests", _VIOLATION, details=details, causes=[cause])
