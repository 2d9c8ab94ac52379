"""RayServices as KubeRay left them, from its recorded lives: they are adopted with a new stamp and nothing else."""

from typing import Any

import pytest

from conformance.operator.flows import load_flow
from golden_cases import absence
from heliostat.api.documents import Accepted, accept
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.rayservice.cluster import SERVICE_HASH
from heliostat.desired.rayservice.serve_config import list_applications, read_serve_config
from heliostat.desired.slots import Impossible
from heliostat.kube.facts import Fact
from heliostat.kube.jsontree import merge_patch
from heliostat.kube.plan import Patch, WriteStatus
from heliostat.plan.rayservice.answers import ApplicationInfo, ServeInfo
from heliostat.plan.rayservice.kind import RAY_SERVICE
from heliostat.plan.rayservice.observed import Remembered, observe_service
from plan.worlds import NAMESPACE, NOW, UID, Tree, plan_by_row

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))

FLOWS = ("rayservice-new-cluster-upgrade", "rayservice-third-spec", "rayservice-head-lost", "rayservice-suspend-resume",
         "rayservice-incremental-upgrade", "rayservice-unhealthy-app")  # fmt: skip
STAMPS = {SERVICE_HASH, "ray.io/num-worker-groups", labels.OPERATOR_VERSION}
TIME = "2027-01-15T08:00:00Z"


def unmask(tree: Any) -> Any:
    """Times, places and conditions as a server would show them."""
    if isinstance(tree, list):
        return [unmask(each) for each in tree]
    if not isinstance(tree, dict):
        return {"TIME": TIME, "NAMESPACE": NAMESPACE, "UID": UID}.get(tree, tree) if isinstance(tree, str) else tree
    kept = {key: unmask(value) for key, value in tree.items()}
    if isinstance(kept.get("conditions"), dict):
        kept["conditions"] = [
            {"type": type_, "lastTransitionTime": TIME, **each} for type_, each in kept["conditions"].items()
        ]
    return kept


def service_of(flow: Tree, status: Tree) -> Tree:
    tree = flow["steps"][0]["do"][1]
    for step in flow["steps"][1:]:
        tree = merge_patch(tree, step["do"][3]) if step["do"][0] == "patch" else tree
    placed = {"namespace": NAMESPACE, "uid": UID, "generation": status.get("observedGeneration", 2),
              "resourceVersion": "1", "finalizers": ["ray.io/rayservice-finalizer"]}  # fmt: skip
    answer = accept({**tree, "metadata": {**tree["metadata"], **placed}})
    assert isinstance(answer, Accepted), answer
    return answer.tree | {"status": status}


def objects_of(flow: Tree, active: str) -> list[Tree]:
    """What was made for the cluster that serves in the end, and the Services, which select it."""
    statuses = {each["name"]: unmask(each["status"]) for each in flow["final_status"]}
    made = [write["object"] for step in flow["steps"] for write in step["writes"]
            if write["verb"] == "create" and write["resource"] != "pods"]  # fmt: skip
    found = []
    for tree in map(unmask, made):
        name = tree["metadata"]["name"]
        if name.startswith("svc-C") and not name.startswith(active):
            continue
        tree["metadata"] |= {"uid": f"uid-{name}" if name != active else "uid-cluster", "resourceVersion": "1"}
        if tree["kind"] == "RayCluster":
            tree["status"] = statuses[name]
        if tree["kind"] == "Service" and labels.CLUSTER in tree["spec"]["selector"]:
            tree["spec"]["selector"][labels.CLUSTER] = active
        if name.startswith(active) and tree["kind"] != "RayCluster":
            tree["metadata"]["ownerReferences"][0]["uid"] = "uid-cluster"
        found.append(_accepted(tree, active))
    return found


def _accepted(tree: Tree, active: str) -> Tree:
    """A Gateway that is served, and the route as it was in the end."""
    conditions = [{"type": type_, "status": "True"} for type_ in ("Accepted", "Programmed", "ResolvedRefs")]
    if tree["kind"] == "Gateway":
        return tree | {"status": {"conditions": conditions}}
    if tree["kind"] == "HTTPRoute":
        tree["spec"]["rules"][0]["backendRefs"][0]["name"] = f"{active}-serve-svc"
        parents = [{"parentRef": tree["spec"]["parentRefs"][0], "conditions": conditions}]
        return tree | {"status": {"parents": parents}}
    return tree


@pytest.mark.parametrize("name", FLOWS)
def test_a_service_of_kuberays_is_adopted_without_a_roll(name: str) -> None:
    flow = load_flow(name)
    status = unmask(next(each["status"] for each in flow["final_status"] if each["resource"] == "rayservices"))
    active, pending = status["activeServiceStatus"], status["pendingServiceStatus"]
    slot = active if active.get("rayClusterName") else pending
    tree, cluster = service_of(flow, status), slot["rayClusterName"]
    config = read_serve_config(observe_service(tree, ()).service)
    assert not isinstance(config, Impossible)
    states = {app: each["status"] for app, each in (slot.get("applicationStatuses") or {}).items()}
    wanted = list_applications(config).items()
    told = {app: ApplicationInfo(states.get(app, "RUNNING"), config=each) for app, each in wanted}
    observed = observe_service(tree, objects_of(flow, cluster), {cluster: Fact(ServeInfo(told))})
    plan = plan_by_row(RAY_SERVICE, observed, observed.service, Remembered(), Settings(), NOW)
    written = [each for each in plan.actions() if not isinstance(each, WriteStatus)]
    for action in written:
        assert isinstance(action, Patch), action
        assert action.ref.kind == "RayCluster"
        assert action.changes.keys() == {"metadata"}
        assert action.changes["metadata"]["annotations"].keys() <= STAMPS
    if slot is active:
        assert [each.ref.name for each in written if isinstance(each, Patch)] == [cluster], "its stamp is renewed"
