"""cert-manager objects behind mTLS: two issuers, a CA, a certificate for each node type (raycluster.md §11.1)."""

from collections.abc import Iterable

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.names import head_tls_secret, worker_tls_secret
from heliostat.desired.raycluster.context import BuildContext, build_context, build_owned

_GROUP = "cert-manager.io"
_LEAF_USAGES = ["digital signature", "key encipherment", "server auth", "client auth"]
_LOOPBACK = "127.0.0.1"


def head_certificate_name(cluster: str) -> str:
    return f"ray-head-cert-{cluster}"


def worker_certificate_name(cluster: str) -> str:
    return f"ray-worker-cert-{cluster}"


def build_tls_objects(context: BuildContext) -> tuple[JsonObject, ...]:
    """In the order they are made; leaf certificates name no Pod addresses yet."""
    if not context.is_tls:
        return ()
    self_signed = _build(context, "Issuer", f"ray-selfsigned-issuer-{context.name}", "selfsigned-issuer")
    self_signed["spec"] = {"selfSigned": {}}
    ca_secret = f"{context.name}-ca-secret-{context.cluster.metadata.uid[:8]}"
    ca = _build(context, "Certificate", f"ray-ca-certificate-{context.name}", "ca-certificate")
    ca["spec"] = {
        "secretName": ca_secret,
        "isCA": True,
        "commonName": f"ray-ca-{context.name}",
        "privateKey": {"algorithm": "RSA", "size": 4096},
        "duration": "87600h0m0s",
        "renewBefore": "720h0m0s",
        "usages": ["cert sign", "crl sign"],
        "issuerRef": _issuer_reference(self_signed["metadata"]["name"]),
    }
    ca_issuer = _build(context, "Issuer", _ca_issuer_name(context), "ca-issuer")
    ca_issuer["spec"] = {"ca": {"secretName": ca_secret}}
    return (self_signed, ca, ca_issuer, *build_leaf_certificates(context.cluster, context.settings, (), ()))


def build_leaf_certificates(
    cluster: RayCluster, settings: Settings, head_ips: Iterable[str], worker_ips: Iterable[str]
) -> tuple[JsonObject, JsonObject]:
    """Head and worker certificates that name these Pod addresses."""
    context = build_context(cluster, settings)
    head = _build(context, "Certificate", head_certificate_name(context.name), "head-certificate")
    head["spec"] = _leaf(context, head_tls_secret(context.name), ["localhost", context.fqdn], head_ips)
    worker = _build(context, "Certificate", worker_certificate_name(context.name), "worker-certificate")
    worker["spec"] = _leaf(context, worker_tls_secret(context.name), ["localhost"], worker_ips)
    return head, worker


def _leaf(context: BuildContext, secret: str, dns_names: list[str], ips: Iterable[str]) -> JsonObject:
    return {
        "secretName": secret,
        "duration": "2160h0m0s",
        "renewBefore": "360h0m0s",
        "dnsNames": sorted(dns_names),
        "ipAddresses": sorted({_LOOPBACK, *ips}),
        "usages": list(_LEAF_USAGES),
        "issuerRef": _issuer_reference(_ca_issuer_name(context)),
    }


def _ca_issuer_name(context: BuildContext) -> str:
    return f"ray-ca-issuer-{context.name}"


def _issuer_reference(name: str) -> JsonObject:
    return {"name": name, "kind": "Issuer", "group": _GROUP}


def _build(context: BuildContext, kind: str, name: str, component: str) -> JsonObject:
    object_labels = {**labels.owned_labels(context.name), labels.COMPONENT: component}
    return build_owned(context, f"{_GROUP}/v1", kind, name, object_labels)
