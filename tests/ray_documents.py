"""Small ray.io objects for tests: a sound one, changed in the one thing the test is about.

The objects are converted without the API server's defaults, so that a field a test leaves out is really absent.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from heliostat.api.raycluster import RayCluster
from heliostat.api.raycronjob import RayCronJob
from heliostat.api.rayjob import RayJob
from heliostat.api.rayservice import RayService
from heliostat.api.settings import Settings, default_gates
from heliostat.kube.paths import format_path
from heliostat.kube.problems import Problem

Tree = dict[str, Any]


def with_gates(**gates: bool) -> Settings:
    return Settings(gates=default_gates() | gates)


def template(container: Tree | None = None, **pod: Any) -> Tree:
    """A Pod template whose Ray container has these fields; ``pod`` goes into the Pod's spec."""
    return {"spec": {"containers": [{"name": "ray", "image": "ray:2.56.0"} | (container or {})]} | pod}


def env(**variables: str) -> Tree:
    return {"env": [{"name": name, "value": value} for name, value in variables.items()]}


def head(container: Tree | None = None, pod: Tree | None = None, **fields: Any) -> Tree:
    return {"headGroupSpec": {"template": template(container, **(pod or {}))} | fields}


def group(name: str = "g0", container: Tree | None = None, pod: Tree | None = None, **fields: Any) -> Tree:
    """A worker group; a field given as None is left out."""
    sound = {"groupName": name, "minReplicas": 0, "maxReplicas": 3, "template": template(container, **(pod or {}))}
    return {key: value for key, value in (sound | fields).items() if value is not None}


def groups(*items: Tree) -> Tree:
    return {"workerGroupSpecs": list(items)}


def cluster_spec(*parts: Tree) -> Tree:
    spec = head() | groups(group())
    for part in parts:
        spec |= part
    return spec


def metadata(name: str = "demo", annotations: Tree | None = None, labels: Tree | None = None) -> Tree:
    return {"name": name, "namespace": "ns", "annotations": annotations or {}, "labels": labels or {}}


def cluster(*parts: Tree, status: Tree | None = None, **about: Any) -> RayCluster:
    tree = _document("RayCluster", cluster_spec(*parts), metadata(**about))
    return msgspec.convert(tree | ({} if status is None else {"status": status}), RayCluster)


def job(*parts: Tree, status: Tree | None = None, **about: Any) -> RayJob:
    spec: Tree = {"entrypoint": "python x.py", "rayClusterSpec": cluster_spec()}
    for part in parts:
        spec |= part
    tree = _document("RayJob", {key: value for key, value in spec.items() if value is not None}, metadata(**about))
    return msgspec.convert(tree | ({} if status is None else {"status": status}), RayJob)


def service(*parts: Tree, **about: Any) -> RayService:
    spec: Tree = {"rayClusterConfig": cluster_spec()}
    for part in parts:
        spec |= part
    return msgspec.convert(_document("RayService", spec, metadata(**about)), RayService)


def cronjob(*parts: Tree, **about: Any) -> RayCronJob:
    spec: Tree = {"schedule": "*/5 * * * *", "jobTemplate": {"rayClusterSpec": cluster_spec()}}
    for part in parts:
        spec |= part
    return msgspec.convert(_document("RayCronJob", spec, metadata(**about)), RayCronJob)


def _document(kind: str, spec: Tree, about: Tree) -> Tree:
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": about, "spec": spec}


def brief(problems: Iterable[Problem]) -> list[tuple[str, str]]:
    """Rule and place of each finding: what a table of expectations holds."""
    return [(problem.rule, format_path(problem.path)) for problem in problems]
