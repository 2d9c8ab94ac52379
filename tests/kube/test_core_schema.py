"""The tables of Kubernetes' own kinds: what is in them, and that they are what the generator writes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heliostat.kube import core_schema
from heliostat.kube.schema import check

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "src" / "heliostat" / "kube" / "data"


def references(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {name for part in schema for name in references(part)}
    if not isinstance(schema, dict):
        return set()
    own = {schema["$ref"]} if isinstance(schema.get("$ref"), str) else set()
    return own | {name for part in schema.values() for name in references(part)}


@pytest.mark.parametrize(
    ("api_version", "kind", "plural", "is_namespaced"),
    [
        ("v1", "Pod", "pods", True),
        ("v1", "Node", "nodes", False),
        ("v1", "Endpoints", "endpoints", True),
        ("networking.k8s.io/v1", "Ingress", "ingresses", True),
        ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", True),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False),
        ("coordination.k8s.io/v1", "Lease", "leases", True),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False),
        ("batch/v1", "Job", "jobs", True),
        ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", True),
    ],
)
def test_kinds_say_how_they_are_served(api_version: str, kind: str, plural: str, is_namespaced: bool) -> None:
    found = core_schema.find_kind(api_version, kind)
    assert found is not None
    assert (found.plural, found.is_namespaced) == (plural, is_namespaced)


@pytest.mark.parametrize("kind", ["PodList", "Status", "DeleteOptions", "Scale", "Eviction"])
def test_what_is_no_resource_is_no_kind(kind: str) -> None:
    assert kind not in {row.kind for row in core_schema.kinds()}


def test_every_kind_and_everything_it_refers_to_is_in_the_table() -> None:
    todo = {row.definition for row in core_schema.kinds()}
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        seen.add(name)
        todo |= references(core_schema.definition(name)) - seen
    assert len(seen) > 500


@pytest.mark.parametrize(
    ("definition", "field", "strategy", "key"),
    [
        ("core.v1.PodSpec", "containers", "merge", "name"),
        ("core.v1.Container", "ports", "merge", "containerPort"),
        ("core.v1.PodSpec", "volumes", "merge,retainKeys", "name"),
        ("core.v1.Container", "args", None, None),
        ("apps.v1.DeploymentSpec", "strategy", "retainKeys", None),
    ],
)
def test_merge_rules_are_kept(definition: str, field: str, strategy: str | None, key: str | None) -> None:
    found = core_schema.definition(definition)["properties"][field]
    assert found.get("x-kubernetes-patch-strategy") == strategy
    assert found.get("x-kubernetes-patch-merge-key") == key


def test_a_sound_pod_fits_and_a_misspelt_field_is_found() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "managedFields": [{"fieldsV1": {"f:metadata": {}}}]},
        "spec": {"containers": [{"name": "c", "imag": "x", "resources": {"limits": {"cpu": 1.5, "memory": "1Gi"}}}]},
    }
    found = list(check(pod, {"$ref": "core.v1.Pod"}, (), core_schema.definition))
    assert [(problem.path[-1], problem.fix) for problem in found] == [("imag", "did you mean image?")]


def test_templates_know_quantities_and_metadata_as_crds_do() -> None:
    template = {
        "metadata": {"generateName": "x"},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": 1.5, "memory": "much"}}}]},
    }
    found = list(check(template, {"$ref": "core.v1.PodTemplateSpec"}, (), core_schema.template_definition))
    assert [(problem.path[-1], problem.rule) for problem in found] == [
        ("generateName", "schema.unknown-field"),
        ("cpu", "schema.type"),
        ("memory", "schema.pattern"),
    ]


def test_an_unknown_definition_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        core_schema.definition("core.v1.Nothing")


def test_the_committed_tables_are_what_the_generator_writes(tmp_path: Path) -> None:
    pytest.importorskip("kubernetes_validate", reason="the generator's source, a development dependency, is absent")
    command = [sys.executable, str(ROOT / "tools" / "generate_core_schema.py"), "--output", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    for name in ("kinds.json", "templates.json"):
        assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes(), f"{name} is stale: run {command[1]}"
