"""The table of rights against a running operator: some lives in which every right is used, and none that is not there.

Left out are rights for what no recording has: several replicas with a Lease, OpenShift, and Kubernetes' own gang
scheduling, whose API no released server has yet.
"""

import pytest
from msgspec import Struct

from conformance.operator.flows import live, load_flow
from conformance.operator.playing import Tree, apply_case, namespace_of
from conformance.operator.recognition import VERSION
from conformance.operator.running import Worlds
from conformance.operator.worlds import Operated
from golden_cases import SETTINGS_OF_FOLDER, absence, cases_of
from heliostat.operator.kinds import POD, RAY_CLUSTER
from heliostat.operator.rights import Need, rights_for
from heliostat.operator.used_rights import Use, list_ungranted, list_unused

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))

NOT_RECORDED = {Need.ELECTION, Need.OPENSHIFT, Need.WORKLOADS}


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
