"""Names of everything a RayCluster owns, with KubeRay's truncation rules (constants.md §11).

Two families disagree on purpose: some names keep the last 50 characters, Pod names keep the first 50. Both are part
of the contract, because other tools compute them too.
"""

import unicodedata

from heliostat.api.raycluster import HeadGroupSpec

_NAME_LIMIT = 50
_LABEL_LIMIT = 63
_ROUTE_LIMIT = 51  # together with the namespace


def _starts_with_punctuation(text: str) -> bool:
    return bool(text) and unicodedata.category(text[0]).startswith("P")


def check_name(text: str) -> str:
    """The last 50 characters, made to start with a letter."""
    text = text[-_NAME_LIMIT:]
    if text[:1].isdecimal():
        text = "r" + text[1:]
    if _starts_with_punctuation(text):
        text = "r" + text[1:]
    return text


def check_label(text: str) -> str:
    """The last 63 characters, not starting with punctuation; a leading digit may stay."""
    text = text[-_LABEL_LIMIT:]
    return "r" + text[1:] if _starts_with_punctuation(text) else text


def check_route_name(text: str, namespace: str) -> str:
    limit = _ROUTE_LIMIT - len(namespace)
    return check_name(text[: max(limit, 0)] if len(text) > limit else text)


def pod_name_prefix(prefix: str, node_type: str) -> str:
    return f"{prefix[:_NAME_LIMIT]}-{node_type}-".lower()


def head_pod_prefix(cluster: str) -> str:
    return pod_name_prefix(cluster, "head")


def head_pod_fixed_name(cluster: str) -> str:
    return head_pod_prefix(cluster)[:-1]


def worker_pod_prefix(cluster: str, group: str) -> str:
    return pod_name_prefix(f"{cluster}-{group}", "worker")


def head_service_name(cluster: str, head: HeadGroupSpec) -> str:
    metadata = (head.head_service or {}).get("metadata") or {}
    return metadata.get("name") or f"{cluster}-head-svc"


def serve_service_name(cluster: str) -> str:
    return f"{cluster}-serve-svc"


def headless_service_name(cluster: str) -> str:
    return f"{cluster}-headless"


def ingress_name(cluster: str) -> str:
    return check_name(f"{cluster}-head-ingress")


def route_name(cluster: str, namespace: str) -> str:
    return check_route_name(f"{cluster}-head-route", namespace)


def gcs_claim_name(cluster: str) -> str:
    return f"{cluster}-gcs-pvc"


def redis_cleanup_job_name(cluster: str) -> str:
    return check_label(f"{cluster}-redis-cleanup")


def head_tls_secret(cluster: str) -> str:
    return f"ray-head-secret-{cluster}"


def worker_tls_secret(cluster: str) -> str:
    return f"ray-worker-secret-{cluster}"


def service_fqdn(service: str, namespace: str, domain: str) -> str:
    return f"{service}.{namespace}.svc.{domain}"
