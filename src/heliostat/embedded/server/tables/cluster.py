"""The columns of what a cluster consists of: nodes, namespaces, configuration, events, leases, quotas, classes."""

from heliostat.embedded.server.tables.columns import (
    AGE,
    CREATED_AT,
    NAME,
    NONE,
    Column,
    Columns,
    computed,
    entries,
    items,
    look,
    number,
    text,
)
from heliostat.embedded.server.tables.durations import UNKNOWN, age
from heliostat.embedded.server.tables.events import EVENT_COLUMNS
from heliostat.embedded.server.tables.phrases import condition, quantity_text
from heliostat.kube.jsontree import JsonObject

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _node_status(node: JsonObject) -> str:
    ready = condition(node, "Ready")
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if look(node, "spec.unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(node: JsonObject) -> str:
    labels = entries(node, "metadata.labels")
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE_LABEL) or "")
    return ",".join(sorted(roles - {""})) or NONE


def _address(kind: str) -> Column:
    def read(node: JsonObject) -> str:
        addresses = items(node, "status.addresses")
        return next((str(address.get("address")) for address in addresses if address.get("type") == kind), NONE)

    return computed(f"{kind.removesuffix('IP')}-IP", read, priority=1)


def _node_info(name: str, field: str, *, priority: int = 1) -> Column:
    return text(name, f"status.nodeInfo.{field}", UNKNOWN if priority else "", priority=priority)


def _count(*paths: str) -> Column:
    return computed("Data", lambda tree: sum(len(entries(tree, path)) for path in paths))


def _quota(quota: JsonObject, *, limits: bool) -> str:
    used = entries(quota, "status.used")
    hard = sorted(entries(quota, "status.hard").items())
    return ", ".join(
        f"{name}: {quantity_text(used.get(name))}/{quantity_text(most)}"
        for name, most in hard
        if name.startswith("limits.") == limits
    )


def _component(field: str) -> Column:
    def read(status: JsonObject) -> str:
        healthy: JsonObject = next((item for item in items(status, "conditions") if item.get("type") == "Healthy"), {})
        if field != "status":
            return str(healthy.get(field) or "")
        return {"True": "Healthy", "False": "Unhealthy"}.get(str(healthy.get("status")), "Unknown")

    return computed(field.capitalize(), read)


def _claim_state(claim: JsonObject) -> str:
    """What is true of a device claim, in the order it comes about."""
    deleted, allocated = "deletionTimestamp" in claim["metadata"], look(claim, "status.allocation") is not None
    facts = {
        "deleted": deleted,
        "pending": not allocated and not deleted,
        "allocated": allocated,
        "reserved": allocated and bool(items(claim, "status.reservedFor")),
    }
    return ",".join(name for name, holds in facts.items() if holds)


def _taint_age(rule: JsonObject, now: float) -> str:
    added = look(rule, "spec.taint.timeAdded")
    return age(added, now) if added else ""


CLUSTER: dict[str, Columns] = {
    "nodes": (
        NAME,
        computed("Status", _node_status),
        computed("Roles", _node_roles),
        AGE,
        _node_info("Version", "kubeletVersion", priority=0),
        _address("InternalIP"),
        _address("ExternalIP"),
        _node_info("OS-Image", "osImage"),
        _node_info("Kernel-Version", "kernelVersion"),
        _node_info("Container-Runtime", "containerRuntimeVersion"),
    ),
    "namespaces": (NAME, text("Status", "status.phase"), AGE),
    "configmaps": (NAME, _count("data", "binaryData"), AGE),
    "secrets": (NAME, text("Type", "type"), _count("data"), AGE),
    "serviceaccounts": (NAME, computed("Secrets", lambda tree: len(items(tree, "secrets"))), AGE),
    "events": EVENT_COLUMNS,
    "leases.coordination.k8s.io": (NAME, text("Holder", "spec.holderIdentity"), AGE),
    "leasecandidates.coordination.k8s.io": (
        NAME,
        text("LeaseName", "spec.leaseName"),
        text("BinaryVersion", "spec.binaryVersion"),
        text("EmulationVersion", "spec.emulationVersion"),
        AGE,
    ),
    "resourcequotas": (
        NAME,
        computed("Request", lambda tree: _quota(tree, limits=False)),
        computed("Limit", lambda tree: _quota(tree, limits=True)),
        AGE,
    ),
    "limitranges": (NAME, CREATED_AT),
    "priorityclasses.scheduling.k8s.io": (
        NAME,
        number("Value", "value"),
        computed("Global-Default", lambda tree: bool(look(tree, "globalDefault")), type="boolean"),
        AGE,
        text("PreemptionPolicy", "preemptionPolicy"),
    ),
    "runtimeclasses.node.k8s.io": (NAME, text("Handler", "handler"), AGE),
    "componentstatuses": (NAME, _component("status"), _component("message"), _component("error")),
    "deviceclasses.resource.k8s.io": (NAME, AGE),
    "resourceclaimtemplates.resource.k8s.io": (NAME, AGE),
    "resourceclaims.resource.k8s.io": (NAME, computed("State", _claim_state), AGE),
    "resourceslices.resource.k8s.io": (
        NAME,
        text("Node", "spec.nodeName"),
        text("Driver", "spec.driver"),
        text("Pool", "spec.pool.name"),
        AGE,
    ),
    "devicetaintrules.resource.k8s.io": (
        NAME,
        text("Key", "spec.taint.key"),
        text("Value", "spec.taint.value"),
        text("Effect", "spec.taint.effect"),
        Column("TimeAdded", _taint_age),
        AGE,
    ),
}
