"""mTLS: the issuers and certificates that KubeRay's separate controller keeps, and the gate that new Pods wait at.

Issuers and the CA are made once. The two leaf certificates follow the addresses of the Pods that live; nothing else
in them is ever changed. A Secret that cert-manager made is handed to its certificate, so that both go together. New
Pods wait until both leaf certificates are issued for their current generation and both Secrets are complete (R11-20).
"""

from msgspec.structs import replace

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayCluster
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.names import head_tls_secret, worker_tls_secret
from heliostat.desired.raycluster.mtls import build_leaf_certificates, head_certificate_name, worker_certificate_name
from heliostat.kube.conditions import get_condition
from heliostat.kube.facts import Unknown
from heliostat.kube.jsontree import diff_merge_patch
from heliostat.kube.lookups import CERTIFICATE, SECRET, kind_name
from heliostat.kube.owners import controller_of, owner_references
from heliostat.kube.plan import Create, Event, Patch, Ref, Wait, patch_of, ref_of
from heliostat.kube.pods import PodView, is_terminal, is_terminating
from heliostat.kube.timestamps import moment_of
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import NOTHING, Part, join
from heliostat.plan.ensure import name_taken, wait_for_knowledge
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.pod_health import node_type
from heliostat.plan.raycluster.reports import certificate_step_failed, report_certificate_step, tell_of_certificates
from heliostat.plan.reports import NORMAL, WARNING

NOT_READY_POLL, READY_POLL = 30.0, 60.0
EXPIRY_WARNING = 24 * 3600.0
_SECRET_KEYS = ("tls.crt", "tls.key", "ca.crt")
_STEPS = {
    "selfsigned-issuer": "self-signed issuer",
    "ca-certificate": "CA certificate",
    "ca-issuer": "CA issuer",
    "head-certificate": "head certificate",
    "worker-certificate": "worker certificate",
}


def plan_certificates(
    tls_objects: tuple[JsonObject, ...], observed: ObservedCluster, settings: Settings, now: float
) -> Part:
    """``tls_objects`` are the wanted ones in the order they are made; without any, what exists stays (R11-2)."""
    if not tls_objects or not settings.cert_manager:  # KubeRay: §11.1, without cert-manager nobody keeps certificates
        return NOTHING
    pods = observed.own_pods
    if isinstance(pods, Unknown):
        return wait_for_knowledge("the Pods, whose addresses the certificates name", pods)
    once = tls_objects[:-2]
    leaves = _leaf_certificates(observed.cluster, settings, pods)
    parts = [*(_ensure(tree, observed) for tree in (*once, *leaves)), _hand_over_secrets(observed, (once[1], *leaves))]
    return join((*parts, _tell_state(observed, (once[1], *leaves), now)))


def _leaf_certificates(
    cluster: RayCluster, settings: Settings, pods: tuple[PodView, ...]
) -> tuple[JsonObject, JsonObject]:
    living = [pod for pod in pods if pod.pod_ip and not is_terminating(pod) and not is_terminal(pod)]
    heads = [pod.pod_ip for pod in living if node_type(pod) == labels.HEAD]
    workers = [pod.pod_ip for pod in living if node_type(pod) == labels.WORKER]
    return build_leaf_certificates(cluster, settings, heads, workers)


def _ensure(wanted: JsonObject, observed: ObservedCluster) -> Part:
    ref, step = ref_of(wanted), _STEPS[_component(wanted)]
    live = observed.find(kind_name(ref.api_version, ref.kind), ref.name)
    if isinstance(live, Unknown):
        return wait_for_knowledge(str(ref), live)
    if live is None:
        return Part(actions=(Create(wanted, Because.MISSING, report_certificate_step(step)),))
    if not observed.owns(live):
        return _tell_taken(ref, step)
    return _update_leaf(live, wanted) if _component(wanted) in ("head-certificate", "worker-certificate") else NOTHING


def _tell_taken(ref: Ref, step: str) -> Part:
    """KubeRay: R11-3, a step that cannot be done is told."""
    taken = name_taken(ref)
    return replace(taken, events=(certificate_step_failed(step, taken.waits[0].message),))


def _component(tree: JsonObject) -> str:
    return str(tree["metadata"]["labels"][labels.COMPONENT])


def _update_leaf(live: JsonObject, wanted: JsonObject) -> Part:
    """Only labels and the sets of names and addresses count (R11-6); if those differ, the whole spec is replaced.

    Differs from KubeRay: R11-6, other labels alone leave the spec alone and are not told as other addresses.
    """
    there, spec = live.get("spec") or {}, wanted["spec"]
    labels_there = live["metadata"].get("labels") or {}
    changes: JsonObject = {}
    if changed_labels := diff_merge_patch(labels_there, wanted["metadata"]["labels"]):
        changes["metadata"] = {"labels": changed_labels}
    if all(set(there.get(key) or []) == set(spec[key]) for key in ("dnsNames", "ipAddresses")):
        return Part(actions=(_patch_leaf(live, wanted, changes, Because.DRIFTED),)) if changes else NOTHING
    node = _component(wanted).removesuffix("-certificate")
    note = f"Updated {node} certificate SANs (IPs: [{' '.join(spec['ipAddresses'])}])"
    patch = _patch_leaf(live, wanted, changes | {"spec": spec}, Because.ADDRESSES_CHANGED)
    return Part(actions=(patch,), events=(tell_of_certificates(NORMAL, "MTLSCertificatesUpdated", "Update", note),))


def _patch_leaf(live: JsonObject, wanted: JsonObject, changes: JsonObject, because: Because) -> Patch:
    return patch_of(live, changes, because, report_certificate_step(_STEPS[_component(wanted)]))


def _hand_over_secrets(observed: ObservedCluster, wanted: tuple[JsonObject, ...]) -> Part:
    """Each Secret gets its certificate as a further owner (R11-7)."""
    return join(_hand_over(observed, tree) for tree in wanted)


def _hand_over(observed: ObservedCluster, wanted: JsonObject) -> Part:
    certificate = observed.find(CERTIFICATE, wanted["metadata"]["name"])
    secret = observed.find(SECRET, wanted["spec"]["secretName"])
    if not isinstance(certificate, dict) or not isinstance(secret, dict) or not observed.owns(certificate):
        return NOTHING
    owners, metadata = owner_references(secret), certificate["metadata"]
    if controller_of(secret) is not None or any(owner.get("uid") == metadata["uid"] for owner in owners):
        return NOTHING
    owner = {
        "apiVersion": certificate["apiVersion"],
        "kind": "Certificate",
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    changes = {"metadata": {"ownerReferences": [*owners, owner]}}
    return Part(actions=(patch_of(secret, changes, Because.OWNER_CHANGED),))


def _tell_state(observed: ObservedCluster, wanted: tuple[JsonObject, ...], now: float) -> Part:
    """``wanted`` is the CA first, then the leaves."""
    lives = [observed.find(CERTIFICATE, tree["metadata"]["name"]) for tree in wanted]
    if not all(isinstance(live, dict) and is_issued(live) for live in lives[1:]):
        note = "Waiting for cert-manager to issue mTLS certificates"
        return Part(
            events=(tell_of_certificates(NORMAL, "MTLSCertsNotReady", "Reconcile", note),), wake_after=NOT_READY_POLL
        )
    note = "mTLS PKI is ready: CA, head, and worker certificates issued"
    ready = tell_of_certificates(NORMAL, "MTLSPKIReady", "Reconcile", note)
    expiring = [event for live in lives if isinstance(live, dict) for event in _warn_of_expiry(live, now)]
    return Part(events=(ready, *expiring), wake_after=READY_POLL)


def _warn_of_expiry(certificate: JsonObject, now: float) -> list[Event]:
    end = moment_of((certificate.get("status") or {}).get("notAfter"))
    if end is None or end - now >= EXPIRY_WARNING:
        return []
    note = (
        f"TLS certificate {certificate['metadata']['name']} expires in {(end - now) / 3600:.1f} hours; "
        "Ray does not hot-reload certs so a pod restart will be needed after renewal"
    )
    return [tell_of_certificates(WARNING, "MTLSCertificateExpiringSoon", "Reconcile", note)]


def is_issued(certificate: JsonObject) -> bool:
    """Ready, and for what the certificate says now (R11-8)."""
    ready = get_condition((certificate.get("status") or {}).get("conditions"), "Ready")
    generation = certificate["metadata"].get("generation", 0)
    return ready is not None and ready.get("status") == "True" and ready.get("observedGeneration", 0) == generation


def find_missing_certificate(observed: ObservedCluster) -> Wait | None:
    """What new Pods have to wait for, or None when everything they mount is there."""
    cluster = observed.cluster.metadata.name
    pairs = (
        (head_certificate_name(cluster), head_tls_secret(cluster)),
        (worker_certificate_name(cluster), worker_tls_secret(cluster)),
    )
    for certificate, secret in pairs:
        problem = _certificate_problem(observed, certificate) or _secret_problem(observed, secret)
        if problem is not None:
            return Wait(Hold.CERTIFICATES, f"mTLS secrets not ready: {problem}", "cert-manager has issued them")
    return None


def _certificate_problem(observed: ObservedCluster, name: str) -> str | None:
    live = observed.find(CERTIFICATE, name)
    if isinstance(live, Unknown):
        return f"Certificate {name}: {live.why}"
    if live is None:
        return f"Certificate {name} does not exist"
    return None if is_issued(live) else f"Certificate {name} is not issued"


def _secret_problem(observed: ObservedCluster, name: str) -> str | None:
    live = observed.find(SECRET, name)
    if isinstance(live, Unknown):
        return f"Secret {name}: {live.why}"
    if live is None:
        return f"Secret {name} does not exist"
    missing = [key for key in _SECRET_KEYS if key not in (live.get("data") or {})]
    return f"Secret {name} lacks {', '.join(missing)}" if missing else None
