"""What a RayCluster should consist of: the value that builders return and planners compare with what is there.

Singleton objects are finished. Pods are one finished template per group; the plan stamps name, replica index and
host index on a copy (``pods.stamp_*``). A slot that cannot be built holds ``Impossible`` with the reason.
"""

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.desired.slots import Impossible, Slot


class DesiredGroup(Struct, frozen=True, kw_only=True):
    """One worker group: how many Pods, and what each looks like before it gets its name and indices."""

    name: str
    template: JsonObject  # a Pod without metadata.name
    name_prefix: str  # Pod names are this plus a 5-character suffix
    replicas: int  # after clamping; 0 when suspended
    hosts: int  # Pods per replica as written (numOfHosts), may be 0
    suspended: bool
    workers_to_delete: tuple[str, ...]

    @property
    def pods(self) -> int:
        return self.replicas * self.hosts


class DesiredCluster(Struct, frozen=True, kw_only=True):
    service_account: JsonObject | None  # autoscaling only
    user_service_account: str | None  # the user named it: it must exist, it is never created
    role: JsonObject | None
    role_binding: JsonObject | None
    ingress: JsonObject | None
    route: JsonObject | None
    auth_secret: JsonObject | None  # stringData.auth_token is a kube.plan.Random marker
    head_service: JsonObject
    headless_service: JsonObject | None
    serve_service: Slot
    gcs_pvc: JsonObject | None  # ours; with a user's claim see user_gcs_claim
    user_gcs_claim: str | None
    gcs_pvc_retained: bool
    scheduling: tuple[JsonObject, ...] | Impossible  # PodGroups, Workloads
    network_policies: tuple[JsonObject, ...]
    tls_objects: tuple[JsonObject, ...]  # issuers and certificates, in the order they are made
    head_template: JsonObject  # a Pod without metadata.name, unless the user or the settings name it
    head_name_prefix: str
    groups: tuple[DesiredGroup, ...]
    workers: int  # Pods of all groups together
    totals: JsonObject  # fields of the status that follow from the spec alone
    spec_hash: str
    hashes_in_force: frozenset[str]  # first halves of the hashes whose Pods lack nothing: see spec_hash
    tls: bool  # Pods wait for the certificates
