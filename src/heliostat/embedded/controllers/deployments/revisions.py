"""Revisions: the number of each template of a Deployment, kept in annotations of its ReplicaSets.

Rules: the newest ReplicaSet has a revision above all others; one that is rolled back to gets a new revision and
remembers the old ones in its history; the Deployment's annotations are copied to its newest ReplicaSet, but for those
that say something about one of the two alone.
"""

from collections.abc import Iterable, Mapping

from heliostat.embedded.controllers.deployments.bounds import Bounds
from heliostat.embedded.controllers.views.deployments import Deployment
from heliostat.embedded.controllers.views.replicasets import ReplicaSet

REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = frozenset(
    (
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        HISTORY,
        DESIRED,
        MOST,
    )
)
_LONGEST_HISTORY = 2000


def revision_of(replica_set: ReplicaSet) -> int | None:
    """0 where none is given, None where it cannot be read."""
    return _whole(replica_set.metadata.annotations.get(REVISION, "0"))


def next_revision(old: Iterable[ReplicaSet]) -> int:
    return max((revision_of(replica_set) or 0 for replica_set in old), default=0) + 1


def decide_annotations(deployment: Deployment, known: Mapping[str, str], revision: int) -> dict[str, str]:
    """What is new or different in the annotations of the newest ReplicaSet, which has those that are ``known``."""
    before = known.get(REVISION, "")
    number = _whole(before) if before else 0
    if number is None:
        return {}  # somebody wrote it by hand, and it is left alone
    copied = {key: value for key, value in deployment.metadata.annotations.items() if key not in _NOT_COPIED}
    changes = {key: value for key, value in copied.items() if known.get(key) != value}
    if number >= revision:
        return changes
    changes[REVISION] = str(revision)
    if REVISION in known:
        changes |= _remember(known.get(HISTORY, ""), before)
    return changes


def _remember(history: str, revision: str) -> dict[str, str]:
    """The history with one more revision; the oldest ones make room."""
    kept = history.split(",") if history else []
    while kept and len(",".join([*kept, revision])) > _LONGEST_HISTORY:
        kept.pop(0)
    return {HISTORY: ",".join([*kept, revision])}


def size_annotations(bounds: Bounds) -> dict[str, str]:
    """What a ReplicaSet knows of the size of its Deployment: with it, a change of size is told from a rollout."""
    return {DESIRED: str(bounds.replicas), MOST: str(bounds.most)}


def noted_size(replica_set: ReplicaSet, annotation: str) -> int | None:
    text = replica_set.metadata.annotations.get(annotation, "")
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else None
    return number if number is not None and number < 2**31 else None


def _whole(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= 18 else None
