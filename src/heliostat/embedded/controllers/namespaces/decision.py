"""What to do for a namespace that is being deleted.

Rules: Pods go first and everything else waits for them; then every object that nobody has asked to go is deleted; what
finalizers hold is told in conditions; when the view is empty the server itself is asked, and only when it agrees the
namespace is let go. Objects are deleted one by one with their UID: the view shows what is there.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from heliostat.embedded.controllers.namespaces.conditions import Content, decide_conditions
from heliostat.embedded.controllers.views.namespaces import NAMESPACE, Namespace
from heliostat.kube.objects import Object
from heliostat.kube.plan import Delete, Effect, JsonObject, Plan, Ref, Replace, Stage, Wait, WriteStatus
from heliostat.kube.resource_types import ResourceType

FINALIZER = "kubernetes"
CHECK_EMPTY = "check-namespace-is-empty"
BATCH = 500
LOOK_SOON_SECONDS = 1.0
FINALIZER_WAIT_SECONDS = 15.0


class NamespaceView(Struct, frozen=True):
    namespace: Namespace
    content: Content  # what the caches show, without resources that have nothing here
    is_surely_empty: bool  # the server said so after it had stopped to take anything new


def plan_namespace(view: NamespaceView, now: float) -> Plan:
    namespace = view.namespace
    if not namespace.metadata.is_terminating or FINALIZER not in namespace.spec.finalizers:
        return Plan()
    pods = {kind: items for kind, items in view.content.items() if str(kind) == "pods"}
    if pods:
        return _plan_deletions(view, pods, remaining={}, now=now)
    if view.content:
        held = {kind: [item for item in items if item.metadata.finalizers] for kind, items in view.content.items()}
        remaining = {kind: items for kind, items in held.items() if items}
        return _plan_deletions(view, view.content, remaining=remaining, now=now)
    if not view.is_surely_empty:
        return _check_empty(namespace)
    status = _plan_status(namespace, {}, now)
    return Plan(status=status) if status is not None else Plan(stages=(Stage("let-go", (_let_go(namespace),)),))


def _plan_deletions(view: NamespaceView, going: Content, *, remaining: Content, now: float) -> Plan:
    deletions = tuple(_deletions(view.namespace, going))[:BATCH]
    waits = tuple(
        Wait(
            "ContentRemains",
            f"{len(items)} {kind} are still there",
            "they are gone; their finalizers and grace periods decide when",
        )
        for kind, items in going.items()
    )
    return Plan(
        stages=(Stage("empty", deletions),) if deletions else (),
        status=_plan_status(view.namespace, remaining, now),
        waits=waits,
        wake_after=FINALIZER_WAIT_SECONDS,
    )


def _deletions(namespace: Namespace, going: Content) -> Iterable[Delete]:
    because = f"its namespace {namespace.metadata.name} is being deleted"
    for kind, items in going.items():
        for item in items:
            if not item.metadata.is_terminating:
                yield Delete(_ref(kind, item), item.metadata.uid, because, propagation="Background")


def _ref(kind: ResourceType, item: Object) -> Ref:
    return Ref(kind.api_version, kind.kind, item.metadata.namespace, item.metadata.name)


def _check_empty(namespace: Namespace) -> Plan:
    metadata = namespace.metadata
    payload = {"namespace": metadata.name, "uid": metadata.uid, "since": metadata.revision}
    effect = Effect(CHECK_EMPTY, payload, metadata.uid, "no watch shows anything in it any more")
    return Plan(stages=(Stage("check", (effect,)),), wake_after=LOOK_SOON_SECONDS)


def _plan_status(namespace: Namespace, remaining: Content, now: float) -> WriteStatus | None:
    conditions = decide_conditions(namespace.status.conditions, remaining, now)
    if conditions == namespace.status.conditions and namespace.status.phase == "Terminating":
        return None
    metadata = namespace.metadata
    status = {"phase": "Terminating", "conditions": msgspec.to_builtins(conditions)}
    because = "what it waits for has changed"
    ref = Ref(NAMESPACE.api_version, NAMESPACE.kind, "", metadata.name)
    return WriteStatus(ref, metadata.uid, metadata.resource_version, status, because)


def _let_go(namespace: Namespace) -> Replace:
    metadata = namespace.metadata
    tree: JsonObject = {
        "apiVersion": NAMESPACE.api_version,
        "kind": NAMESPACE.kind,
        "metadata": msgspec.to_builtins(metadata),  # whole: what a PUT leaves out is gone
        "spec": {"finalizers": [name for name in namespace.spec.finalizers if name != FINALIZER]},
    }
    return Replace(tree, "there is nothing left in it", subresource="finalize")
