"""deploy/: the files are what the code would write now, and a Kubernetes takes them."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from heliostat import __version__
from heliostat.kube.documents import read_documents
from heliostat.operator.rights import RIGHTS
from heliostat.testing import ApiServer

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
BY_HAND = {"Dockerfile", "README.md"}
PLACES = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "Service": "/api/v1/namespaces/{}/services",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
}


def read_files(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def objects_of(name: str) -> list[dict[str, Any]]:
    return [document.tree for document in read_documents((DEPLOY / name).read_bytes(), name)]


def generated_names() -> list[str]:
    return sorted(set(read_files(DEPLOY)) - BY_HAND)


def test_the_files_are_what_the_code_says(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "generate_deploy.py", tmp_path], check=True)
    committed = {name: text for name, text in read_files(DEPLOY).items() if name not in BY_HAND}
    assert committed == read_files(tmp_path), "run make deploy-manifests"


def test_a_kubernetes_takes_every_object_and_knows_every_field() -> None:
    async def scenario() -> None:
        async with asyncio.timeout(60), ApiServer() as server:
            namespace_first = sorted(generated_names(), key=lambda name: name != "operator.yaml")
            for tree in (tree for name in namespace_first for tree in objects_of(name)):
                path = PLACES[tree["kind"]].format(tree["metadata"].get("namespace", ""))
                answer = await server.request("POST", path, tree, fieldValidation="Strict")
                assert answer["kind"] == tree["kind"], answer

    asyncio.run(scenario())


def test_rbac_is_the_table_of_rights_and_nothing_else() -> None:
    granted = {
        (verb, group, resource)
        for name in generated_names()
        if not name.startswith("crds/")
        for tree in objects_of(name)
        for rule in tree.get("rules", [])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert granted == {(verb, right.group, right.resource) for right in RIGHTS for verb in right.verbs}


def test_two_replicas_stand_behind_each_other() -> None:
    (deployment,) = [tree for tree in objects_of("operator.yaml") if tree["kind"] == "Deployment"]
    assert deployment["spec"]["replicas"] == 2
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert "--enable-leader-election=false" not in container["args"]
    assert container["image"] == f"heliostat:{__version__}"


def test_the_image_is_built_from_files_that_exist() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert f"heliostat:{__version__} " in text
    copied = [word for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE) for word in line.split()[:-1]]
    assert len(copied) >= 3
    assert [name for name in copied if not (ROOT / name).exists()] == []
