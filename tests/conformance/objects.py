"""Small whole objects for sequences to start from. Each call gives a new tree; ``metadata`` adds to the name."""

from typing import Any

from conformance.model import Json


def _object(api_version: str, kind: str, name: str, metadata: dict[str, Any], **parts: Json) -> Json:
    named = {"name": name} if name else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {**named, **metadata}, **parts}


def configmap(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Json:
    return _object("v1", "ConfigMap", name, metadata, data=data or {"key": "value"})


def secret(name: str, **metadata: Any) -> Json:
    return _object("v1", "Secret", name, metadata, stringData={"user": "ada"})


def service_account(name: str, **metadata: Any) -> Json:
    return _object("v1", "ServiceAccount", name, metadata)


def namespace(name: str, **metadata: Any) -> Json:
    return _object("v1", "Namespace", name, metadata)


def container(name: str = "main", **more: Json) -> Json:
    return {"name": name, "image": "example.com/app:1", **more}


def pod_spec(**more: Json) -> Json:
    return {"containers": [container()], **more}


def pod(name: str, spec: Json = None, **metadata: Any) -> Json:
    return _object("v1", "Pod", name, metadata, spec=spec or pod_spec())


def service(name: str, spec: Json = None, **metadata: Any) -> Json:
    return _object("v1", "Service", name, metadata, spec=spec or {"selector": {"app": name}, "ports": [{"port": 80}]})


def template(labels: dict[str, str], **more: Json) -> Json:
    return {"metadata": {"labels": labels}, "spec": pod_spec(**more)}


def workload(kind: str, name: str, spec: Json = None, **metadata: Any) -> Json:
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet."""
    labels = {"app": name}
    basis: Json = {"selector": {"matchLabels": labels}, "template": template(labels)}
    return _object("apps/v1", kind, name, metadata, spec={**basis, **(spec or {})})


def job(name: str, spec: Json = None, **metadata: Any) -> Json:
    basis: Json = {"template": {"spec": pod_spec(restartPolicy="Never")}}
    return _object("batch/v1", "Job", name, metadata, spec={**basis, **(spec or {})})


def cronjob(name: str, spec: Json = None, **metadata: Any) -> Json:
    basis: Json = {"schedule": "*/5 * * * *", "jobTemplate": {"spec": job(name)["spec"]}}
    return _object("batch/v1", "CronJob", name, metadata, spec={**basis, **(spec or {})})


def lease(name: str, spec: Json = None, **metadata: Any) -> Json:
    return _object("coordination.k8s.io/v1", "Lease", name, metadata, spec=spec or {"holderIdentity": "me"})


def event(name: str, **metadata: Any) -> Json:
    involved = {"kind": "Pod", "namespace": "${ns}", "name": "web", "apiVersion": "v1"}
    return _object(
        "v1", "Event", name, metadata, involvedObject=involved, reason="Started", message="up", type="Normal"
    )


def role(name: str, rules: Json = None, kind: str = "Role", **metadata: Any) -> Json:
    default = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    return _object("rbac.authorization.k8s.io/v1", kind, name, metadata, rules=default if rules is None else rules)


def role_binding(name: str, role_name: str, kind: str = "RoleBinding", **metadata: Any) -> Json:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind.removesuffix("Binding"), "name": role_name}
    subjects = [{"kind": "ServiceAccount", "name": "default", "namespace": "${ns}"}, {"kind": "User", "name": "ada"}]
    return _object("rbac.authorization.k8s.io/v1", kind, name, metadata, roleRef=reference, subjects=subjects)


def widget(name: str, spec: Json = None, **metadata: Any) -> Json:
    return _object("conformance.dev/v1", "Widget", name, metadata, spec={"size": 3} if spec is None else spec)


def claim(name: str, spec: Json = None, **metadata: Any) -> Json:
    basis: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return _object("v1", "PersistentVolumeClaim", name, metadata, spec={**basis, **(spec or {})})


def ingress(name: str, spec: Json = None, **metadata: Any) -> Json:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    basis: Json = {"rules": [{"host": "example.com", "http": {"paths": paths}}]}
    return _object("networking.k8s.io/v1", "Ingress", name, metadata, spec={**basis, **(spec or {})})


def network_policy(name: str, spec: Json = None, **metadata: Any) -> Json:
    return _object("networking.k8s.io/v1", "NetworkPolicy", name, metadata, spec=spec or {"podSelector": {}})


def quota(name: str, hard: dict[str, str], **metadata: Any) -> Json:
    return _object("v1", "ResourceQuota", name, metadata, spec={"hard": hard})


def priority_class(name: str, value: int, **more: Json) -> Json:
    return _object("scheduling.k8s.io/v1", "PriorityClass", name, {}, value=value, **more)


def node(name: str, **metadata: Any) -> Json:
    return _object("v1", "Node", name, metadata)


def endpoint_slice(name: str, **metadata: Any) -> Json:
    endpoints = [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}]
    parts: Json = {"addressType": "IPv4", "endpoints": endpoints, "ports": [{"name": "http", "port": 80}]}
    return _object("discovery.k8s.io/v1", "EndpointSlice", name, metadata, **parts)
