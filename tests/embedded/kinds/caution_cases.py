"""Objects that kube-apiserver accepts with a warning, and the warnings it gave, recorded by ``record_cautions``."""

from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

FILE = Path(__file__).parent / "recorded_cautions.json"
Tree: TypeAlias = dict[str, Any]


class Case(Struct, frozen=True):
    """Created in a dry run; with ``change`` it is created in earnest and a merge patch is tried out on it."""

    name: str
    path: str
    body: Tree
    change: Tree | None = None
    subresource: str = ""


NAMESPACE = "cautions"
_GROUPS = {"pods": "/api/v1", "services": "/api/v1", "secrets": "/api/v1", "persistentvolumeclaims": "/api/v1",
           "serviceaccounts": "/api/v1", "endpoints": "/api/v1", "podtemplates": "/api/v1",
           "replicationcontrollers": "/api/v1", "jobs": "/apis/batch/v1", "cronjobs": "/apis/batch/v1",
           "deployments": "/apis/apps/v1", "replicasets": "/apis/apps/v1", "statefulsets": "/apis/apps/v1",
           "daemonsets": "/apis/apps/v1", "ingresses": "/apis/networking.k8s.io/v1",
           "networkpolicies": "/apis/networking.k8s.io/v1",
           "endpointslices": "/apis/discovery.k8s.io/v1"}  # fmt: skip
_CLUSTER = {"nodes": "/api/v1", "persistentvolumes": "/api/v1", "storageclasses": "/apis/storage.k8s.io/v1",
            "runtimeclasses": "/apis/node.k8s.io/v1"}  # fmt: skip


def _path(plural: str) -> str:
    return f"{_CLUSTER[plural]}/{plural}" if plural in _CLUSTER else f"{_GROUPS[plural]}/namespaces/NS/{plural}"


def container(**more: Any) -> Tree:
    return {"name": "main", "image": "example.com/app:1", **more}


def pod(name: str = "p", annotations: Tree | None = None, **spec: Any) -> Tree:
    return {
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"containers": [container()], **spec},
    }


def template(annotations: Tree | None = None, **spec: Any) -> Tree:
    metadata = {"labels": {"app": "x"}, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"containers": [container()], **spec}}


SELECTED: Tree = {"matchLabels": {"app": "x"}}
DOUBLE: Tree = {"containers": [container(ports=[{"containerPort": 80}, {"containerPort": 80, "name": "b"}])]}


def owner(name: str = "w", pods: Tree | None = None, **spec: Any) -> Tree:
    return {"metadata": {"name": name}, "spec": {"selector": SELECTED, "template": pods or template(), **spec}}


def _pods() -> list[tuple[str, Tree]]:
    ports = [
        [{"containerPort": 80}, {"containerPort": 80}],
        [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 80}],
        [{"containerPort": 80, "hostPort": 80, "hostIP": "10.1.1.1"}, {"containerPort": 80, "hostPort": 80}],
        [{"containerPort": 80, "hostPort": 81}, {"containerPort": 80, "hostPort": 80}],
        [{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80}],
        [{"containerPort": 80, "hostIP": "10.1.1.1", "name": "web"}],
    ]
    variables: list[list[Tree]] = [
        [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
        [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}],
        [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)"}],
        [{"name": "A", "value": "1"}, {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    ]
    profile = "container.seccomp.security.alpha.kubernetes.io/main"
    old = {"seccomp.security.alpha.kubernetes.io/pod": "runtime/default", profile: "runtime/default"}
    return [
        *((f"ports {index}", pod(containers=[container(ports=each)])) for index, each in enumerate(ports)),
        *((f"env {index}", pod(containers=[container(env=each)])) for index, each in enumerate(variables)),
        ("port names", pod(containers=[container(ports=[{"containerPort": 80, "name": "web"}]),
                                       container(name="b", ports=[{"containerPort": 81, "name": "web"}])])),
        ("init ports", pod(initContainers=[container(name="i", ports=[{"containerPort": 80}])],
                           containers=[container(ports=[{"containerPort": 80}])])),
        ("dotted name", pod("a.b")),
        ("node selector", pod(nodeSelector={"beta.kubernetes.io/os": "linux"})),
        ("node affinity", pod(affinity={"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "beta.kubernetes.io/arch", "operator": "In", "values": ["a"]}]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {
                "matchExpressions": [{"key": "x", "operator": "In", "values": ["a b"]}]}}]}})),
        ("pod affinity", pod(affinity={
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]},
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}]}})),
        ("spread", pod(topologySpreadConstraints=[{
            "maxSkew": 1, "topologyKey": "failure-domain.beta.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule"}])),
        ("old annotations", pod(annotations={"scheduler.alpha.kubernetes.io/critical-pod": "",
                                             "security.alpha.kubernetes.io/sysctls": "a=b"})),
        ("seccomp", pod(annotations=old)),
        ("seccomp with fields", pod(annotations=old,
                                    securityContext={"seccompProfile": {"type": "RuntimeDefault"}})),
        ("volumes", pod(volumes=[
            {"name": "a", "gitRepo": {"repository": "x"}},
            {"name": "b", "glusterfs": {"endpoints": "e", "path": "p"}},
            {"name": "c", "rbd": {"monitors": ["m"], "image": "i"}},
            {"name": "d", "ephemeral": {"volumeClaimTemplate": {"spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1500m"}}}}}}])),
        ("overlaps", pod(volumes=[
            {"name": "a", "configMap": {"name": "c", "items": [
                {"key": "k", "path": "x"}, {"key": "l", "path": "x/y"}, {"key": "m", "path": "z"}]}},
            {"name": "b", "secret": {"secretName": "s", "items": [
                {"key": "k", "path": "x"}, {"key": "l", "path": "x"}]}}])),
        ("projected", pod(volumes=[{"name": "a", "projected": {"sources": [
            {"configMap": {"name": "c", "items": [{"key": "k", "path": "x"}]}},
            {"secret": {"name": "s", "items": [{"key": "k", "path": "x/y"}]}},
            {"downwardAPI": {"items": [{"path": "x/z", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"serviceAccountToken": {"path": "x/y/token"}}]}}])),
        ("pull secrets", pod(imagePullSecrets=[{"name": "a"}, {"name": "a"}, {}])),
        ("host aliases", pod(hostAliases=[{"ip": "10.0.0.1", "hostnames": ["a"]}, {"ip": "10.0.0.1"},
                                          {"ip": "010.0.0.1"}, {"ip": "2001:DB8::1"}, {"ip": "::ffff:1.2.3.4"}])),
        ("nameservers", pod(dnsPolicy="None", dnsConfig={"nameservers": ["1.2.3.04", "1.2.3.4"]})),
        ("fractions", pod(containers=[container(resources={
            "limits": {"memory": "1500m", "ephemeral-storage": "0.5", "cpu": "1500m"},
            "requests": {"memory": "1500m", "ephemeral-storage": "100m"}})])),
        ("short grace", pod(terminationGracePeriodSeconds=-1)),
    ]  # fmt: skip


def _others() -> list[tuple[str, str, Tree]]:
    job = {"template": template(restartPolicy="Never", **DOUBLE)}
    web = {"ports": [{"port": 80}]}
    armor = {"container.apparmor.security.beta.kubernetes.io/main": "runtime/default"}
    same = {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1500m"}}}
    disk = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "nfs": {"server": "s", "path": "/x"}}
    pem = {"tls.crt": "eA==", "tls.key": "eA=="}
    return [
        ("jobs", "ports", {"metadata": {"name": "j"}, "spec": job}),
        ("jobs", "dotted name", {"metadata": {"name": "a.b"}, "spec": {"template": template(restartPolicy="Never")}}),
        ("jobs", "many indexes", {"metadata": {"name": "j"}, "spec": {
            "completionMode": "Indexed", "completions": 200000, "parallelism": 20000,
            "template": template(restartPolicy="Never")}}),
        ("cronjobs", "ports", {"metadata": {"name": "c.d"}, "spec": {"schedule": "@daily",
                                                                    "jobTemplate": {"spec": job}}}),
        ("deployments", "short grace", owner(pods=template(terminationGracePeriodSeconds=-1))),
        ("deployments", "armor", owner("a.b", template(armor))),
        ("deployments", "armor with the same field", owner(pods=template(armor, **same))),
        ("replicasets", "ports", owner("a.b", template(**DOUBLE))),
        ("daemonsets", "ports", owner("a.b", template(**DOUBLE))),
        ("statefulsets", "all", owner(pods=template(**DOUBLE), serviceName="s", revisionHistoryLimit=-1,
                                      volumeClaimTemplates=[{"metadata": {"name": "v"}, "spec": claim}])),
        ("podtemplates", "ports", {"metadata": {"name": "a.b"}, "template": template(**DOUBLE)}),
        ("replicationcontrollers", "ports", {"metadata": {"name": "a.b"}, "spec": {"template": template(**DOUBLE)}}),
        ("services", "headless", {"metadata": {"name": "s"}, "spec": {
            **web, "clusterIP": "None", "sessionAffinity": "ClientIP", "externalIPs": ["1.2.3.4"]}}),
        ("services", "addresses", {"metadata": {"name": "s", "annotations": {
            "service.kubernetes.io/topology-aware-hints": "auto"}}, "spec": {
                **web, "type": "LoadBalancer", "loadBalancerIP": "01.2.3.4", "externalIPs": ["1.2.3.04"],
                "loadBalancerSourceRanges": ["10.1.2.3/8", "10.0.0.0/8", "010.0.0.0/8"]}}),
        ("services", "external name", {"metadata": {"name": "s"}, "spec": {
            "type": "ExternalName", "externalName": "x.example.com", "externalIPs": ["1.2.3.4"]}}),
        ("services", "ignored name", {"metadata": {"name": "s"}, "spec": {**web, "externalName": "x.example.com"}}),
        ("secrets", "no pem", {"metadata": {"name": "s"}, "type": "kubernetes.io/tls", "data": pem}),
        ("persistentvolumeclaims", "all", {"metadata": {"name": "c", "annotations": {
            "volume.beta.kubernetes.io/storage-class": "x"}}, "spec": claim}),
        ("persistentvolumes", "all", {"metadata": {"name": "v", "annotations": {
            "volume.beta.kubernetes.io/mount-options": "ro"}}, "spec": {
                **disk, "persistentVolumeReclaimPolicy": "Recycle",
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "beta.kubernetes.io/os", "operator": "Exists"}]}]}}}}),
        ("serviceaccounts", "mountable", {"metadata": {"name": "s", "annotations": {
            "kubernetes.io/enforce-mountable-secrets": "true"}}}),
        ("nodes", "all", {"metadata": {"name": "n"}, "spec": {"externalID": "x", "podCIDR": "10.1.2.3/24"}}),
        ("endpoints", "address", {"metadata": {"name": "e"}, "subsets": [{"addresses": [{"ip": "1.2.3.04"}]}]}),
        ("endpointslices", "names", {"metadata": {"name": "e"}, "addressType": "FQDN",
                                     "endpoints": [{"addresses": ["x.example.com"]}]}),
        ("endpointslices", "address", {"metadata": {"name": "e"}, "addressType": "IPv4",
                                       "endpoints": [{"addresses": ["1.2.3.04"]}]}),
        ("ingresses", "class", {"metadata": {"name": "i", "annotations": {"kubernetes.io/ingress.class": "x"}},
                                "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}}),
        ("networkpolicies", "blocks", {"metadata": {"name": "n"}, "spec": {"podSelector": {}, "ingress": [
            {"from": [{"ipBlock": {"cidr": "10.1.2.3/8", "except": ["10.1.0.0/16"]}}]}], "egress": [
                {"to": [{"ipBlock": {"cidr": "2001:DB8::/64"}}]}]}}),
        ("storageclasses", "topology", {"metadata": {"name": "s"}, "provisioner": "x/y", "allowedTopologies": [
            {"matchLabelExpressions": [{"key": "failure-domain.beta.kubernetes.io/zone", "values": ["a"]}]}]}),
        ("runtimeclasses", "selector", {"metadata": {"name": "r"}, "handler": "h", "scheduling": {
            "nodeSelector": {"node-role.kubernetes.io/master": ""}}}),
    ]  # fmt: skip


_PATCHED = ("scaled", {"spec": {"replicas": 2}}), ("noted", {"metadata": {"labels": {"a": "b"}}})


def _changes() -> list[Case]:
    spotted = template(terminationGracePeriodSeconds=-1)
    cases = [
        Case(f"{plural} {how}", _path(plural), owner(f"{plural}-{how}", spotted), change)
        for plural in ("deployments", "replicasets", "statefulsets")
        for how, change in _PATCHED
    ]
    mended: Tree = {"spec": {"template": template()}}
    cases += [
        Case("daemonsets mended", _path("daemonsets"), owner("ds", spotted), mended),
        Case("daemonsets spoilt", _path("daemonsets"), owner("ds2"), {"spec": {"template": spotted}}),
        Case("daemonsets noted", _path("daemonsets"), owner("ds3", spotted), _PATCHED[1][1]),
        Case(
            "replicationcontrollers mended",
            _path("replicationcontrollers"),
            {"metadata": {"name": "rc"}, "spec": {"template": spotted}},
            {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 3}}}},
        ),
        Case("pods noted", _path("pods"), pod("pn", imagePullSecrets=[{}]), _PATCHED[1][1]),
        Case("pods status", _path("pods"), pod("ps"), {"status": {"podIPs": [{"ip": "1.2.3.04"}]}}, "status"),
        Case(
            "services status",
            _path("services"),
            {"metadata": {"name": "st"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}},
            {"status": {"loadBalancer": {"ingress": [{"ip": "::ffff:1.2.3.4"}]}}},
            "status",
        ),
        Case(
            "accounts that were told before",
            _path("serviceaccounts"),
            {"metadata": {"name": "sa", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}},
            _PATCHED[1][1],
        ),
    ]
    return cases


CASES: tuple[Case, ...] = (
    *(Case(f"pods {name}", _path("pods"), body) for name, body in _pods()),
    *(Case(f"{plural} {name}", _path(plural), body) for plural, name, body in _others()),
    *_changes(),
)


class Told(Struct):
    status: int
    warnings: list[str]


def load_told() -> dict[str, Told]:
    return msgspec.json.decode(FILE.read_bytes(), type=dict[str, Told])
