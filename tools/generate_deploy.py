"""Write deploy/: the CustomResourceDefinitions, the operator's own objects, and RBAC that is the table of its rights.

``make deploy-manifests`` runs it; a test compares the committed files with a fresh run, so RBAC cannot drift from the
code. One file for each feature that is off by default holds the rights which that feature needs beyond the others.
"""

import sys
from pathlib import Path

from heliostat import __version__
from heliostat.api.crds import all_crds
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.yaml_text import encode_yaml
from heliostat.operator.rights import NEED_WORDS, Need, build_rules, rights_for

FOLDER = Path(__file__).resolve().parents[1] / "deploy"
GENERATED = "# Made by tools/generate_deploy.py; change the code, then run make deploy-manifests.\n"
NAMESPACE, NAME = "heliostat-system", "heliostat-operator"
IMAGE = f"heliostat:{__version__}"
METRICS_PORT, PROBES_PORT = 8080, 8082
LABELS = {"app.kubernetes.io/name": "heliostat", "app.kubernetes.io/component": "operator"}
_RBAC = "rbac.authorization.k8s.io"
_BASIC = (Need.ALWAYS, Need.ELECTION)


def build_files() -> dict[str, str]:
    """Path below deploy/ to text."""
    files = {f"crds/{crd['metadata']['name']}.yaml": _render([crd]) for crd in all_crds()}
    files["operator.yaml"] = _render(build_operator())
    for need in Need:
        if need not in _BASIC:
            objects = build_cluster_rights(f"{NAME}-{need.value}", need)
            files[f"rights/{need.value}.yaml"] = _render(objects, f"# Needed with: {NEED_WORDS[need]}\n")
    return files


def build_operator() -> list[JsonObject]:
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": _hardened()}},
        _build("v1", "ServiceAccount"),
        *build_cluster_rights(NAME, Need.ALWAYS),
        *_build_lease_rights(),
        _build("apps/v1", "Deployment", spec=_build_deployment_spec()),
        _build("policy/v1", "PodDisruptionBudget", spec={"minAvailable": 1, "selector": {"matchLabels": LABELS}}),
        _build("v1", "Service", spec=_build_service_spec()),
    ]


def build_cluster_rights(name: str, need: Need) -> list[JsonObject]:
    rules = build_rules(rights_for(frozenset({need})))
    return [
        {**_build(f"{_RBAC}/v1", "ClusterRole", name, namespace=""), "rules": rules},
        {**_build(f"{_RBAC}/v1", "ClusterRoleBinding", name, namespace=""), **_bind("ClusterRole", name)},
    ]


def _build_lease_rights() -> list[JsonObject]:
    name = f"{NAME}-{Need.ELECTION.value}"
    rules = build_rules(rights_for(frozenset({Need.ELECTION})))
    return [
        {**_build(f"{_RBAC}/v1", "Role", name), "rules": rules},
        {**_build(f"{_RBAC}/v1", "RoleBinding", name), **_bind("Role", name)},
    ]


def _bind(kind: str, name: str) -> JsonObject:
    return {
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    }


def _build(
    api_version: str, kind: str, name: str = NAME, *, namespace: str = NAMESPACE, spec: JsonObject | None = None
) -> JsonObject:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), "labels": LABELS}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **({"spec": spec} if spec else {})}


def _hardened() -> dict[str, str]:
    return {**LABELS, "pod-security.kubernetes.io/enforce": "restricted"}


def _build_deployment_spec() -> JsonObject:
    """Two, so that one stands by; a new one is ready as soon as it could lead, so an update leaves no gap."""
    return {
        "replicas": 2,
        "selector": {"matchLabels": LABELS},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}},
        "template": {"metadata": {"labels": LABELS}, "spec": _build_pod_spec()},
    }


def _build_pod_spec() -> JsonObject:
    return {
        "serviceAccountName": NAME,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": LABELS},
            }
        ],
        "containers": [_build_container()],
    }


def _build_container() -> JsonObject:
    return {
        "name": "operator",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": ["operator", "--enable-metrics"],
        "ports": [
            {"name": "metrics", "containerPort": METRICS_PORT},
            {"name": "probes", "containerPort": PROBES_PORT},
        ],
        "livenessProbe": _build_probe("/healthz", initialDelaySeconds=10, periodSeconds=10, failureThreshold=3),
        "readinessProbe": _build_probe("/readyz", initialDelaySeconds=1, periodSeconds=5, failureThreshold=2),
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _build_probe(path: str, **times: int) -> JsonObject:
    return {"httpGet": {"path": path, "port": "probes"}, "timeoutSeconds": 5, **times}


def _build_service_spec() -> JsonObject:
    return {"selector": LABELS, "ports": [{"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"}]}


def _render(objects: list[JsonObject], note: str = "") -> str:
    return GENERATED + note + "---\n".join(encode_yaml(tree) for tree in objects)


def write_files(folder: Path) -> None:
    for name, text in build_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


if __name__ == "__main__":
    write_files(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
