"""The rights of deploy/operator.yaml are enough, and all of them: the operator works with its ServiceAccount alone."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedded.processes.http_api import HttpApi
from embedded.processes.running import SHORT_LEASE, ServerProcess, wait_until
from heliostat.api.crds import all_crds
from heliostat.api.settings import Settings
from heliostat.kube.documents import read_documents
from heliostat.kube.jsontree import encode_json
from heliostat.operator.options import OperatorOptions
from heliostat.operator.program import RayOperator
from heliostat.operator.rights import needs_of, rights_for
from heliostat.operator.used_rights import Use, UsedRights, list_ungranted, list_unused
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import load_connection
from heliostat.runtime.logs import Log
from heliostat.runtime.problems import Problems
from heliostat.testing import ApiServer
from operator_process import OperatorProcess

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ("raycluster", "raycluster-autoscaler", "raycluster-fault-tolerant")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
# Heads of another operator's version, an event that comes back, an Ingress that somebody changed.
NOT_IN_A_SHORT_LIFE = {"patch pods", "patch events", "patch ingresses.networking.k8s.io"}
OF_OTHER_KINDS = {  # tests/operator/goldens/test_used_rights.py has the lives of RayJobs and RayServices
    "create rayclusters.ray.io",
    "delete rayclusters.ray.io",
    "patch rayjobs.ray.io",
    "delete rayjobs.ray.io",
    "patch rayjobs/status.ray.io",
    "patch services",
    "patch jobs.batch",
    "delete jobs.batch",
    "patch rayservices.ray.io",
    "patch rayservices/status.ray.io",
    "delete services",
    *(
        f"{verb} {resource}.gateway.networking.k8s.io"
        for resource in ("gateways", "httproutes")
        for verb in ("create", "patch", "delete")
    ),
}
NAMESPACE, ACCOUNT = "heliostat-system", "heliostat-operator"
PLACES = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts",
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "Role": f"{RBAC}/namespaces/{NAMESPACE}/roles",
    "RoleBinding": f"{RBAC}/namespaces/{NAMESPACE}/rolebindings",
}


def examples() -> list[dict[str, Any]]:
    files = [(ROOT / "examples" / f"{name}.yaml").read_bytes() for name in EXAMPLES]
    trees = [document.tree for file in files for document in read_documents(file)]
    return [tree for tree in trees if tree["kind"] == "RayCluster"]


def install(api: HttpApi) -> None:
    """Our kinds, and everything of the Deployment's file but the Deployment."""
    for tree in all_crds(slim=True):
        api.post(CRDS, tree)
    for document in read_documents((ROOT / "deploy" / "operator.yaml").read_bytes()):
        if document.tree["kind"] in PLACES:
            api.post(PLACES[document.tree["kind"]], document.tree)


def write_kubeconfig(api: HttpApi, server: ServerProcess, path: Path) -> None:
    """For the ServiceAccount, with a token as a Pod of it would have."""
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = api.post(f"{PLACES['ServiceAccount']}/{ACCOUNT}/token", request)
    tree = read_documents(server.kubeconfig.read_bytes())[0].tree
    tree["users"][0]["user"] = {"token": answer["status"]["token"]}
    path.write_bytes(encode_json(tree))


def has_head(cluster: dict[str, Any]) -> bool:
    """Workers may wait for a graphics card that no node has."""
    conditions = cluster.get("status", {}).get("conditions", [])
    return any((one["type"], one["status"]) == ("HeadPodReady", "True") for one in conditions)


def test_every_example_gets_its_head_with_the_rights_that_are_deployed(tmp_path: Path) -> None:
    with (
        ServerProcess(tmp_path, "--memory", "--controllers", "--simulated-nodes=5") as server,
        HttpApi(server.kubeconfig) as api,
    ):
        install(api)
        write_kubeconfig(api, server, tmp_path / "account")
        flags = (*SHORT_LEASE, f"--leader-election-namespace={NAMESPACE}")
        with OperatorProcess(tmp_path, tmp_path / "account", *flags) as operator:
            operator.wait_answer("/readyz", 200)
            for tree in examples():
                api.post(CLUSTERS, tree)
            wait_until(lambda: all(map(has_head, api.list(CLUSTERS))), operator.told)
            assert operator.stop() == 0
            assert "orbidden" not in operator.told()
            assert "a right is missing" not in operator.told()


def test_a_life_of_every_example_uses_what_is_granted_and_nothing_else() -> None:
    async def scenario() -> None:
        async with asyncio.timeout(60), ApiServer(nodes=5) as server:
            for tree in all_crds(slim=True):
                await server.request("POST", CRDS, tree)
            transport = HttpsTransport(load_connection([server.kubeconfig], {}))
            try:
                used = await _live(server, transport)
            finally:
                await transport.close()
        assert list_ungranted(used) == []
        rights = rights_for(needs_of(Settings(), has_election=False))
        assert {str(use) for use in list_unused(used, rights)} <= NOT_IN_A_SHORT_LIFE | OF_OTHER_KINDS

    asyncio.run(scenario())


async def _live(server: ApiServer, transport: HttpsTransport) -> set[Use]:
    """Every example is made, works, and is deleted; the one with Redis waits for a Job that nobody carries out."""
    noting, stop, problems = UsedRights(transport), asyncio.Event(), Problems(Log("test"), time.monotonic)
    running = asyncio.create_task(RayOperator(noting, OperatorOptions(), on_problem=problems.note).run(stop))
    for tree in examples():
        await server.request("POST", CLUSTERS, tree)
    await _until(server, CLUSTERS, lambda clusters: all(map(has_head, clusters)))
    for tree in examples():
        await server.request("DELETE", f"{CLUSTERS}/{tree['metadata']['name']}")
    await _until(server, CLUSTERS, lambda clusters: len(clusters) == 1)
    await _until(server, JOBS, lambda jobs: len(jobs) == 1)
    stop.set()
    await running
    return noting.used


async def _until(server: ApiServer, path: str, is_so: Callable[[list[dict[str, Any]]], bool]) -> None:
    deadline = time.monotonic() + 45
    while not is_so(found := (await server.request("GET", path))["items"]):
        assert time.monotonic() < deadline, [tree.get("status") for tree in found]
        await asyncio.sleep(0.05)
