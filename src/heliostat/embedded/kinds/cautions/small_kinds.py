"""Kinds that need a line or two: Services, claims, volumes, nodes, policies, endpoints, classes."""

from collections.abc import Iterator

from heliostat.embedded.kinds.cautions.addresses import address_cautions, each_address, each_range, range_cautions
from heliostat.embedded.kinds.cautions.amounts import claim_spec_cautions
from heliostat.embedded.kinds.cautions.node_labels import (
    DEPRECATED_LABELS,
    expression_cautions,
)
from heliostat.embedded.kinds.cautions.volumes import DEPRECATED_PLUGINS
from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject

_HINTS, _MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_VOLUME_ANNOTATIONS = {
    _CLASS_ANNOTATION: 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_VOLUME_PLUGINS = ("cephfs", "photonPersistentDisk", "scaleIO", "storageOS", "glusterfs", "rbd")
_INGRESS_CLASS = "kubernetes.io/ingress.class"
_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_OWN_SLICES = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")
_OWN_ENDPOINTS = "endpoint-controller"
_EXTERNAL_NAME = "ExternalName"


def _annotations(tree: JsonObject) -> JsonObject:
    return tree["metadata"].get("annotations") or {}


def service_cautions(service: JsonObject) -> Iterator[str]:
    spec = service["spec"]
    if _HINTS in _annotations(service):
        yield f"annotation {_HINTS} is deprecated, please use {_MODE} instead"
    if spec.get("clusterIP") not in (None, "", "None"):
        yield from each_address("spec.clusterIPs", spec.get("clusterIPs") or ())
    if spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None":
        yield from _headless_cautions(spec)
    yield from each_address("spec.externalIPs", spec.get("externalIPs") or ())
    yield from address_cautions("spec.loadBalancerIP", spec.get("loadBalancerIP") or "")
    yield from each_range("spec.loadBalancerSourceRanges", spec.get("loadBalancerSourceRanges") or ())
    if spec.get("type") == _EXTERNAL_NAME and spec.get("externalIPs"):
        yield f'spec.externalIPs is ignored when spec.type is "{_EXTERNAL_NAME}"'
    if spec.get("type") != _EXTERNAL_NAME and spec.get("externalName"):
        yield f'spec.externalName is ignored when spec.type is not "{_EXTERNAL_NAME}"'


def _headless_cautions(spec: JsonObject) -> Iterator[str]:
    if spec.get("loadBalancerIP"):
        yield "spec.loadBalancerIP is ignored for headless services"
    if spec.get("externalIPs"):
        yield "spec.externalIPs is ignored for headless services"
    if spec.get("sessionAffinity") != "None":
        yield "spec.SessionAffinity is ignored for headless services"


def balancer_cautions(tree: JsonObject) -> Iterator[str]:
    """Of the status of a Service or an Ingress."""
    for index, ingress in enumerate(((tree.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()):
        yield from address_cautions(f"status.loadBalancer.ingress[{index}]", ingress.get("ip") or "")


def pod_status_cautions(pod: JsonObject) -> Iterator[str]:
    for name in ("podIPs", "hostIPs"):
        for index, address in enumerate((pod.get("status") or {}).get(name) or ()):
            yield from address_cautions(f"status.{name}[{index}].ip", address.get("ip", ""))


def claim_cautions(claim: JsonObject) -> Iterator[str]:
    if _CLASS_ANNOTATION in _annotations(claim):
        yield f"metadata.annotations[{_CLASS_ANNOTATION}]: {_VOLUME_ANNOTATIONS[_CLASS_ANNOTATION]}"
    yield from claim_spec_cautions(claim["spec"], "spec")


def volume_object_cautions(volume: JsonObject) -> Iterator[str]:
    annotations, spec = _annotations(volume), volume["spec"]
    yield from (f"metadata.annotations[{key}]: {why}" for key, why in _VOLUME_ANNOTATIONS.items() if key in annotations)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended"
            " approach is to use dynamic provisioning."
        )
    required = (spec.get("nodeAffinity") or {}).get("required") or {}
    for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
        at = f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]"
        yield from expression_cautions(at, term.get("matchExpressions"))
    yield from (f"spec.{plugin}: {DEPRECATED_PLUGINS[plugin]}" for plugin in _VOLUME_PLUGINS if plugin in spec)


def node_cautions(node: JsonObject) -> Iterator[str]:
    spec = node.get("spec") or {}
    if "configSource" in spec:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    yield from each_range("spec.podCIDRs", spec.get("podCIDRs") or ())


def network_policy_cautions(policy: JsonObject) -> Iterator[str]:
    for rules, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate((policy.get("spec") or {}).get(rules) or ()):
            for position, peer in enumerate(rule.get(peers) or ()):
                block = peer.get("ipBlock")
                if block is not None:
                    at = f"spec.{rules}[{index}].{peers}[{position}].ipBlock"
                    yield from range_cautions(f"{at}.cidr", block.get("cidr", ""))
                    yield from each_range(f"{at}.except", block.get("except") or ())


def ingress_cautions(ingress: JsonObject) -> Iterator[str]:
    if _INGRESS_CLASS in _annotations(ingress) and (ingress.get("spec") or {}).get("ingressClassName") is None:
        yield f"annotation {go_quote(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"


def new_endpoint_slice_cautions(tree: JsonObject) -> Iterator[str]:
    if tree.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    yield from endpoint_slice_cautions(tree)


def endpoint_slice_cautions(tree: JsonObject) -> Iterator[str]:
    if (tree["metadata"].get("labels") or {}).get("endpointslice.kubernetes.io/managed-by") in _OWN_SLICES:
        return
    for index, endpoint in enumerate(tree.get("endpoints") or ()):
        yield from each_address(f"endpoints[{index}].addresses", endpoint.get("addresses") or ())


def endpoints_cautions(tree: JsonObject) -> Iterator[str]:
    if (tree["metadata"].get("labels") or {}).get("endpoints.kubernetes.io/managed-by") == _OWN_ENDPOINTS:
        return
    for index, subset in enumerate(tree.get("subsets") or ()):
        for name in ("addresses", "notReadyAddresses"):
            for position, address in enumerate(subset.get(name) or ()):
                yield from address_cautions(f"subsets[{index}].{name}[{position}].ip", address.get("ip", ""))


def account_cautions(new: JsonObject, old: JsonObject | None = None) -> Iterator[str]:
    if _MOUNTABLE in _annotations(new) and (old is None or _MOUNTABLE not in _annotations(old)):
        yield (
            f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to"
            " mounted secrets"
        )


def runtime_class_cautions(tree: JsonObject) -> Iterator[str]:
    for key in (tree.get("scheduling") or {}).get("nodeSelector") or ():
        if key in DEPRECATED_LABELS:
            yield f"scheduling.nodeSelector: {DEPRECATED_LABELS[key]}"


def storage_class_cautions(tree: JsonObject) -> Iterator[str]:
    for index, topology in enumerate(tree.get("allowedTopologies") or ()):
        for position, expression in enumerate(topology.get("matchLabelExpressions") or ()):
            if expression.get("key") in DEPRECATED_LABELS:
                at = f"allowedTopologies[{index}].matchLabelExpressions[{position}].key"
                yield f"{at}: {DEPRECATED_LABELS[expression['key']]}"


def capacity_cautions(tree: JsonObject) -> Iterator[str]:
    selector = tree.get("nodeTopology") or {}
    yield from expression_cautions("nodeTopology", selector.get("matchExpressions"))
    for key in selector.get("matchLabels") or ():
        if key in DEPRECATED_LABELS:
            yield f"nodeTopology.matchLabels.{key}: {DEPRECATED_LABELS[key]}"
