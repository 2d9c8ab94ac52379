"""The table of rights against a running operator: some lives in which every right is used, and none that is not there.

Left out are rights for what no recording has: several replicas with a Lease, OpenShift, and Kubernetes' own gang
scheduling, whose API no released server has yet.
"""

import pytest
from msgspec import Struct

from conformance.operator.cron_flows import live_cron
from conformance.operator.flows import live, load_flow
from conformance.operator.job_flows import live_job
from conformance.operator.playing import Tree, apply_case, namespace_of
from conformance.operator.recognition import VERSION
from conformance.operator.running import Worlds
from conformance.operator.service_flows import live_service
from conformance.operator.worlds import Operated
from golden_cases import SETTINGS_OF_FOLDER, absence, cases_of
from heliostat.operator.kinds import POD, RAY_CLUSTER, RAY_JOB
from heliostat.operator.rights import Need, rights_for
from heliostat.operator.used_rights import Use, list_ungranted, list_unused
from heliostat.testing.scripted_ray.faults import Answer

pytestmark = [pytest.mark.slow, pytest.mark.skipif(absence() is not None, reason=str(absence()))]

NOT_RECORDED = {Need.ELECTION, Need.OPENSHIFT, Need.WORKLOADS, Need.PROXY}


class Life(Struct, frozen=True):
    """A recorded case, and what its author changes afterwards."""

    folder: str
    case: str
    edits: tuple[Tree, ...] = ()


LIVES = (
    Life("samples", "ray-cluster.autoscaler", ({"upgradeStrategy": {"type": "Recreate"}},)),
    Life("gates", "gc00", ({"networkPolicy": {"mode": "DenyAllEgress"}}, {"networkPolicy": None})),
    Life("gates", "gc09"),
    Life("gates", "gc11", ({"headGroupSpec": {"ingressOptions": {"path": "/elsewhere"}}},)),
    Life("gates", "gc20", ({"gcsFaultToleranceOptions": {"storage": {"deletionPolicy": "Retain"}}},)),
    Life("gates", "gc46"),
    Life("scheduler-volcano", "rc0", ({"enableInTreeAutoscaling": True},)),
    Life("scheduler-scheduler-plugins", "rc2"),
)
JOB_FLOWS = ("rayjob-k8s-fail-retry",)  # a submitter is made and deleted, a Service follows
SERVICE_FLOWS = ("rayservice-suspend-resume", "rayservice-new-cluster-upgrade")  # Services go, move, and are counted
INCREMENTAL_FLOW = "rayservice-incremental-upgrade"
FLOWS = ("raycluster-multi-host", "raycluster-redis-ft-delete")  # Pods are deleted; Redis is cleaned


def test_every_right_is_used_and_nothing_is_used_without_one(worlds: Worlds) -> None:
    used: set[Use] = set()
    for folder in dict.fromkeys(life.folder for life in LIVES):
        world = worlds.of(folder, SETTINGS_OF_FOLDER[folder])
        world.run(_live_all(world.operated, folder))
        used |= world.operated.used
    assert list_ungranted(used) == []
    assert list_unused(used, rights_for(frozenset(Need) - NOT_RECORDED)) == []


async def _live_all(operated: Operated, folder: str) -> None:
    for life in LIVES:
        if life.folder == folder:
            await _live(operated, life)
    for name in FLOWS if folder == "samples" else ():
        await live(operated, load_flow(name), f"rights-{name}")
    for name in JOB_FLOWS if folder == "samples" else ():
        await live_job(operated, load_flow(name), f"rights-{name}")
    for name in SERVICE_FLOWS if folder == "samples" else ():
        await live_service(operated, load_flow(name), f"rights-{name}")
    if folder == "samples":
        await live_service(operated, _suspend_in_the_middle(load_flow(INCREMENTAL_FLOW)), "rights-incremental")
    if folder == "gates":
        await live_cron(operated, load_flow("raycronjob"), "rights-cron")
    if folder == "samples":
        await live_job(operated, _delete_itself(load_flow("rayjob-http-mode")), "rights-self")
        await _lose_head(operated, load_flow("rayjob-k8s-mode"), "rights-lost")


def _suspend_in_the_middle(flow: Tree) -> Tree:
    """With another class of Gateways before: Gateway and route are made, changed and deleted."""
    first, second = flow["steps"]
    options = {"upgradeStrategy": {"clusterUpgradeOptions": {"gatewayClassName": "another"}}}
    steps = [
        (["patch", "rayservice", "svc", {"spec": options}], ["UpdatedGateway"]),
        (second["do"], ["UpdatedHTTPRoute"]),
        (["patch", "rayservice", "svc", {"spec": {"suspend": True}}], ["DeletedGateway", "DeletedHTTPRoute"]),
    ]
    told = [
        {"do": deed, "writes": [], "status_changes": [], "events": [{"reason": reason} for reason in reasons]}
        for deed, reasons in steps
    ]
    return {**flow, "steps": [first, *told]}


async def _lose_head(operated: Operated, flow: Tree, namespace: str) -> None:
    """While the job runs, and its submitter has not come to an end."""
    (_verb, tree) = flow["steps"][0]["do"]
    container = {"name": "ray-job-submitter", "image": "rayproject/ray:2.52.0"}
    nowhere = {"nodeSelector": {"example.com/of": "no-node"}, "restartPolicy": "Never", "containers": [container]}
    tree = tree | {"spec": tree["spec"] | {"submitterPodTemplate": {"spec": nowhere}}}
    await operated.world.make_namespace(namespace)
    await operated.admin.create(RAY_JOB, tree | {"metadata": tree["metadata"] | {"namespace": namespace}})

    async def shows(field: str, value: str) -> bool:
        job = await operated.admin.get(RAY_JOB, namespace, tree["metadata"]["name"])
        return bool((job.get("status") or {}).get(field) == value)

    await operated.world.until(lambda: shows("jobStatus", "RUNNING"))
    assert operated.world.ray is not None
    for name, cluster in operated.world.ray.clusters.items():
        if name.startswith(f"{namespace}/"):
            cluster.lose()
            cluster.disturb(Answer(method="GET", path="/api/jobs/", status=404))  # nobody submits it again
    await operated.world.until(lambda: shows("jobDeploymentStatus", "Failed"))
    await operated.rest()
    await operated.world.remove_namespace(namespace)
    operated.log.forget(namespace)


def _delete_itself(flow: Tree) -> Tree:
    """The same life, and then the RayJob goes by a rule of its own."""
    ((_verb, tree),) = [step["do"] for step in flow["steps"]]
    condition = {"jobStatus": "SUCCEEDED", "ttlSeconds": 0}
    rules = {"deletionRules": [{"policy": "DeleteSelf", "condition": condition}]}
    spec = tree["spec"] | {"deletionStrategy": rules, "shutdownAfterJobFinishes": False}
    return {"steps": [flow["steps"][0] | {"do": ["create", tree | {"spec": spec}]}]}


async def _live(operated: Operated, life: Life) -> None:
    (case,) = [case for case in cases_of(life.folder) if case.name == life.case]
    namespace = namespace_of(case)
    await apply_case(operated, case)
    await operated.rest()
    await _age_heads(operated, namespace)
    for edit in life.edits:
        for cluster in await operated.admin.items(RAY_CLUSTER, namespace):
            await operated.admin.merge(RAY_CLUSTER, namespace, cluster["metadata"]["name"], {"spec": edit})
        await operated.rest()
    await operated.world.remove_namespace(namespace)
    operated.log.forget(namespace)


async def _age_heads(operated: Operated, namespace: str) -> None:
    """As if another operator had made them."""
    for pod in await operated.admin.items(POD, namespace):
        if VERSION in pod["metadata"].get("annotations", {}):
            stamp = {"metadata": {"annotations": {VERSION: "v1.4.0"}}}
            await operated.admin.merge(POD, namespace, pod["metadata"]["name"], stamp)
