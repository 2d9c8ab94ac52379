"""The end of a namespace, step by step."""

import msgspec
import pytest

from heliostat.embedded.controllers.namespaces.conditions import decide_conditions
from heliostat.embedded.controllers.namespaces.decision import CHECK_EMPTY, NamespaceView, plan_namespace
from heliostat.embedded.controllers.namespaces.reconciler import EmptinessCheck, NamespaceReconciler
from heliostat.embedded.controllers.survey import read_discovery
from heliostat.embedded.controllers.views.namespaces import NAMESPACE, Namespace, NamespaceSpec, NamespaceStatus
from heliostat.kube.objects import Metadata, Object
from heliostat.kube.plan import Delete, Effect, Plan, Replace
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.caches import Caches
from heliostat.testing.faults import Fault, Stale
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import small_server

POD = ResourceType("v1", "Pod", "pods")
CONFIG = ResourceType("v1", "ConfigMap", "configmaps")
JOB = ResourceType("batch/v1", "Job", "jobs")
NOW = 1_800_000_000.0
GONE = "2026-01-01T00:00:00Z"


def namespace(
    status: NamespaceStatus | None = None, *, deleted: bool = True, finalizers: tuple[str, ...] = ("kubernetes",)
) -> Namespace:
    metadata = Metadata(name="n", uid="u", resource_version="5", deletion_timestamp=GONE if deleted else None)
    return Namespace(metadata, NamespaceSpec(finalizers), status or NamespaceStatus("Terminating"))


def item(name: str, *, finalizers: tuple[str, ...] = (), deleted: bool = False) -> Object:
    return Object(
        Metadata(
            name=name,
            namespace="n",
            uid=f"uid-{name}",
            finalizers=finalizers,
            deletion_timestamp=GONE if deleted else None,
        )
    )


def plan(content: dict[ResourceType, list[Object]], *, surely_empty: bool = False) -> Plan:
    return plan_namespace(NamespaceView(namespace(), content, surely_empty), NOW)


@pytest.mark.parametrize("subject", [namespace(deleted=False), namespace(finalizers=("other/one",))])
def test_a_namespace_that_is_not_ours_to_end_is_left_alone(subject: Namespace) -> None:
    assert plan_namespace(NamespaceView(subject, {CONFIG: [item("a")]}, False), NOW) == Plan()


def test_pods_go_first_and_everything_else_waits() -> None:
    planned = plan({CONFIG: [item("c")], POD: [item("p"), item("going", deleted=True)]})
    deletions = [action for action in planned.actions() if isinstance(action, Delete)]
    assert [(action.ref.name, action.uid) for action in deletions] == [("p", "uid-p")]


def test_everything_that_nobody_asked_to_go_is_deleted() -> None:
    planned = plan({CONFIG: [item("c")], JOB: [item("j"), item("held", finalizers=("x/y",), deleted=True)]})
    deletions = [action for action in planned.actions() if isinstance(action, Delete)]
    assert [(str(action.ref), action.propagation) for action in deletions] == [
        ("ConfigMap n/c", "Background"),
        ("Job n/j", "Background"),
    ]


def test_what_finalizers_hold_is_told() -> None:
    held = {JOB: [item("a", finalizers=("x/y",)), item("b", finalizers=("x/y", "z/z"))]}
    told = {condition.type: condition for condition in decide_conditions((), held, NOW)}
    remaining, finalizers = told["NamespaceContentRemaining"], told["NamespaceFinalizersRemaining"]
    assert (remaining.status, remaining.reason) == ("True", "SomeResourcesRemain")
    assert remaining.message == "Some resources are remaining: jobs.batch has 2 resource instances"
    assert finalizers.message == (
        "Some content in the namespace has finalizers remaining: "
        "x/y in 2 resource instances, z/z in 1 resource instances"
    )
    assert told["NamespaceDeletionContentFailure"].reason == "ContentDeleted"


def test_a_transition_time_moves_with_its_status_alone() -> None:
    before = decide_conditions((), {JOB: [item("a", finalizers=("x/y",))]}, NOW)
    after = decide_conditions(before, {JOB: [item("a", finalizers=("x/y", "z/z"))]}, NOW + 60)
    assert [c.last_transition_time for c in after] == [c.last_transition_time for c in before]
    assert [c.message for c in after] != [c.message for c in before]
    done = {c.type: c for c in decide_conditions(after, {}, NOW + 120)}
    assert done["NamespaceContentRemaining"].last_transition_time == "2027-01-15T08:02:00Z"


def test_an_empty_view_is_not_enough_the_server_is_asked() -> None:
    (action,) = plan({}).actions()
    assert isinstance(action, Effect)
    assert action.payload == {"namespace": "n", "uid": "u", "since": 5}


def test_an_empty_namespace_tells_so_and_is_then_let_go() -> None:
    told = plan({}, surely_empty=True)
    assert told.status is not None
    conditions = msgspec.convert({"phase": "Terminating", **told.status.status}, NamespaceStatus)
    done = plan_namespace(NamespaceView(namespace(conditions), {}, True), NOW + 1)
    (action,) = done.actions()
    assert isinstance(action, Replace)
    assert (action.subresource, action.object["spec"]) == ("finalize", {"finalizers": []})
    assert action.object["metadata"]["resourceVersion"] == "5"


def test_discovery_gives_each_resource_once_in_its_preferred_version() -> None:
    verbs = ["delete", "list", "watch", "get"]
    hpa = {"resource": "horizontalpodautoscalers", "responseKind": {"kind": "HorizontalPodAutoscaler"}, "verbs": verbs}
    review = {"resource": "tokenreviews", "responseKind": {"kind": "TokenReview"}, "verbs": ["create"]}
    document = {
        "items": [
            {
                "metadata": {"name": "autoscaling"},
                "versions": [
                    {"version": "v2", "resources": [hpa]},
                    {"version": "v1", "resources": [hpa, review]},
                ],
            }
        ]
    }
    assert read_discovery(msgspec.json.encode(document)) == [
        ResourceType("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
    ]


@pytest.mark.parametrize("is_behind", [True, False])
def test_an_answer_from_before_the_end_began_does_not_prove_that_it_is_empty(is_behind: bool) -> None:
    async def scenario() -> None:
        async with small_server() as server:
            before = server.store.revision
            await server.client.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
            reconciler = NamespaceReconciler(Caches())
            check = EmptinessCheck(server.client, reconciler)
            if is_behind:
                server.faults.add(Fault(Stale(before), path="namespaces/n/pods$"))
            payload = {"namespace": "n", "uid": "u", "since": server.store.revision}
            await check.carry_out(Effect(CHECK_EMPTY, payload, "u", "nothing is seen"))
            assert len(server.faults.met) == is_behind
            assert reconciler.is_known_to_be_empty("u") is not is_behind

    run_virtual(scenario())
