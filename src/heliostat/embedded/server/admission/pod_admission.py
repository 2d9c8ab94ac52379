"""What a Pod gets from the cluster before it is judged: its priority, tolerations of failing nodes, its runtime class.

Rules: a priority is never given as a number but by its class; every Pod bears a failing node for five minutes unless it
says otherwise; a class that is not there refuses the Pod.
"""

import msgspec

from heliostat.embedded.refusals import forbidden
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject

PRIORITY_CLASSES = "priorityclasses.scheduling.k8s.io"
RUNTIME_CLASSES = "runtimeclasses.node.k8s.io"
_FAILING = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300
_BY_CLASS = "must not be provided in pod spec; priority admission controller computed"
_NO_CLASS: JsonObject = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}


def name_for_refusal(tree: JsonObject) -> str:
    """Admission comes before names are judged, and speaks of a nameless object so."""
    return tree["metadata"].get("name") or "Unknown"


def admit_priority(pod: JsonObject, store: Store) -> None:
    spec, name = pod["spec"], name_for_refusal(pod)
    chosen = _chosen_class(spec, store, name)
    value, policy = chosen.get("value", 0), chosen.get("preemptionPolicy")
    given = spec.get("priority")
    if given is not None and given != value:
        why = f"the integer value of priority ({given}) {_BY_CLASS} {value} from the given PriorityClass name"
        raise forbidden("pods", "", name, why)
    spec["priority"] = value
    if policy is None:
        return
    given = spec.get("preemptionPolicy")
    if given is not None and given != policy:
        why = f"the string value of PreemptionPolicy ({given}) {_BY_CLASS} {policy} from the given PriorityClass name"
        raise forbidden("pods", "", name, why)
    spec["preemptionPolicy"] = policy


def _chosen_class(spec: JsonObject, store: Store, pod: str) -> JsonObject:
    name = spec.get("priorityClassName")
    if not name:
        default = default_priority_class(store)
        if default is None:
            return _NO_CLASS
        spec["priorityClassName"] = default["metadata"]["name"]
        return default
    record = store.get(Key(PRIORITY_CLASSES, "", name))
    if record is None:
        raise forbidden("pods", "", pod, f"no PriorityClass with name {name} was found")
    chosen: JsonObject = msgspec.json.decode(record.body)
    return chosen


def default_priority_class(store: Store) -> JsonObject | None:
    found: list[JsonObject] = [
        msgspec.json.decode(record.body)
        for record in store.page(Scope(PRIORITY_CLASSES)).records
        if b'"globalDefault":true' in record.body
    ]
    return min(found, key=lambda tree: int(tree.get("value", 0)), default=None)


def keep_priority(pod: JsonObject, old: JsonObject) -> None:
    for field in ("priority", "preemptionPolicy"):
        if pod["spec"].get(field) is None and old["spec"].get(field) is not None:
            pod["spec"][field] = old["spec"][field]


def check_default_class(tree: JsonObject, old: JsonObject | None, store: Store) -> None:
    """Only one priority class is everybody's."""
    if not tree.get("globalDefault"):
        return
    default = default_priority_class(store)
    name = tree["metadata"]["name"]
    if default is not None and (old is None or default["metadata"]["name"] != name):
        why = f"PriorityClass {default['metadata']['name']} is already marked as default. Only one default can exist"
        raise forbidden("priorityclasses", "scheduling.k8s.io", name, why)


def tolerate_failing_nodes(pod: JsonObject) -> None:
    tolerations = pod["spec"].get("tolerations") or []
    borne = {
        key
        for toleration in tolerations
        for key in _FAILING
        if toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")
    }
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
        for key in _FAILING
        if key not in borne
    ]
    if added:
        pod["spec"]["tolerations"] = [*tolerations, *added]


def admit_runtime_class(pod: JsonObject, store: Store) -> None:
    """A Pod has the overhead of its runtime class."""
    overhead = _class_overhead(pod, store)
    if overhead:
        pod["spec"]["overhead"] = overhead


def check_overhead(pod: JsonObject, store: Store) -> None:
    if pod["spec"].get("overhead") and not _class_overhead(pod, store):
        why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise forbidden("pods", "", name_for_refusal(pod), why)


def _class_overhead(pod: JsonObject, store: Store) -> JsonObject | None:
    name = pod["spec"].get("runtimeClassName")
    if not name:
        return None
    record = store.get(Key(RUNTIME_CLASSES, "", name))
    if record is None:
        why = f'pod rejected: RuntimeClass "{name}" not found'
        raise forbidden("pods", "", name_for_refusal(pod), why)
    overhead: JsonObject | None = (msgspec.json.decode(record.body).get("overhead") or {}).get("podFixed")
    return overhead
