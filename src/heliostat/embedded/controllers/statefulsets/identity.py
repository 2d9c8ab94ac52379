"""Who a Pod of a StatefulSet is: its number, its names, the claims that stay with that number, and its revision.

The revision is the hash of the template. It is all that is kept of a template: there are no ControllerRevisions, so
what is made anew always has the template of now.
"""

from heliostat.embedded.controllers.adoption import Owner
from heliostat.embedded.controllers.deployments.templates import hash_template
from heliostat.embedded.controllers.replicasets.decision import build_pod
from heliostat.embedded.controllers.views.statefulsets import StatefulSet
from heliostat.kube.jsontree import JsonObject

REVISION_LABEL = "controller-revision-hash"
NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"
_LONGEST_NAME = 52  # in a revision, which is a label's value


def name_revision(owner: StatefulSet) -> str:
    return f"{owner.metadata.name[:_LONGEST_NAME]}-{hash_template(owner.spec.template, None)}"


def name_pod(owner: StatefulSet, ordinal: int) -> str:
    return f"{owner.metadata.name}-{ordinal}"


def read_ordinal(owner: StatefulSet, pod_name: str) -> int | None:
    """None: no Pod of this StatefulSet is called so."""
    digits = pod_name.removeprefix(f"{owner.metadata.name}-")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) < 10
    return int(digits) if is_number and name_pod(owner, int(digits)) == pod_name else None


def name_claim(claim: JsonObject, owner: StatefulSet, ordinal: int) -> str:
    return f"{claim['metadata']['name']}-{name_pod(owner, ordinal)}"


def build_member(owner: StatefulSet, mine: Owner, ordinal: int) -> JsonObject:
    """The Pod of that number, with the template of now."""
    name = name_pod(owner, ordinal)
    pod = build_pod(owner.spec.template, mine, name, f"{owner.metadata.name}-")
    labels = {REVISION_LABEL: name_revision(owner), NAME_LABEL: name, INDEX_LABEL: str(ordinal)}
    metadata = {**pod["metadata"], "labels": {**pod["metadata"].get("labels", {}), **labels}}
    spec = {**pod["spec"], "hostname": name}
    if owner.spec.service_name:
        spec["subdomain"] = owner.spec.service_name
    volumes = _build_volumes(owner, spec.get("volumes") or [], ordinal)
    return {**pod, "metadata": metadata, "spec": {**spec, "volumes": volumes} if volumes else spec}


def _build_volumes(owner: StatefulSet, given: list[JsonObject], ordinal: int) -> list[JsonObject]:
    """A claim takes the place of a volume of the same name."""
    claims = {claim["metadata"]["name"]: claim for claim in owner.spec.volume_claim_templates}
    own = [
        {"name": name, "persistentVolumeClaim": {"claimName": name_claim(claim, owner, ordinal), "readOnly": False}}
        for name, claim in claims.items()
    ]
    return [*own, *(volume for volume in given if volume["name"] not in claims)]


def build_claim(owner: StatefulSet, claim: JsonObject, ordinal: int) -> JsonObject:
    """It belongs to nobody: who deletes the StatefulSet keeps the data."""
    given = claim["metadata"]
    selected = (owner.spec.selector or {}).get("matchLabels") or {}
    metadata = {
        "name": name_claim(claim, owner, ordinal),
        "namespace": owner.metadata.namespace,
        "labels": {**(given.get("labels") or {}), **selected},
    }
    if given.get("annotations"):
        metadata["annotations"] = given["annotations"]
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim["spec"]}
