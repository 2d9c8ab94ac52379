"""Every reason a plan can give, with the sentence people read.

``Because`` is why something is written, ``Hold`` is why something waits. The text of a member is what plans, logs and
tests show; ``explain`` turns it into a sentence. Nothing is decided here.
"""

from enum import StrEnum


class Because(StrEnum):
    """Why an action is in the plan."""

    MISSING = "Missing"
    DRIFTED = "Drifted"
    OWNER_CHANGED = "OwnerChanged"
    SCALE_UP = "ScaleUp"
    SCALE_DOWN = "ScaleDown"
    UNHEALTHY = "Unhealthy"
    ASKED_FOR = "AskedFor"
    INCOMPLETE_REPLICA = "IncompleteReplica"
    SUSPENDED = "Suspended"
    GROUP_SUSPENDED = "GroupSuspended"
    GROUP_REMOVED = "GroupRemoved"
    SPEC_CHANGED = "SpecChanged"
    OPERATOR_CHANGED = "OperatorChanged"
    CLUSTER_DELETED = "ClusterDeleted"
    CLEANUP_PLEDGED = "CleanupPledged"
    CLEANUP_DUE = "CleanupDue"
    CLEANUP_OVER = "CleanupOver"
    CLEANUP_TIMED_OUT = "CleanupTimedOut"
    CLEANUP_POINTLESS = "CleanupPointless"
    NOT_WANTED = "NotWanted"
    IMMUTABLE = "Immutable"
    ADDRESSES_CHANGED = "AddressesChanged"
    STATUS_CHANGED = "StatusChanged"


class Hold(StrEnum):
    """Why a plan waits."""

    MANAGED_ELSEWHERE = "ManagedElsewhere"
    REFUSED = "Refused"
    BEING_DELETED = "BeingDeleted"
    NOT_KNOWN = "NotKnown"
    BLOCKED = "Blocked"
    IMPOSSIBLE = "Impossible"
    NAME_TAKEN = "NameTaken"
    TOO_MANY = "TooMany"
    SERVICE_ACCOUNT_MISSING = "ServiceAccountMissing"
    CLAIM_MISSING = "ClaimMissing"
    CERTIFICATES = "CertificatesNotReady"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    RECREATING = "Recreating"
    HEAD_NOT_RESTARTED = "HeadNotRestarted"
    SEVERAL_HEADS = "SeveralHeads"
    TERMINATING = "Terminating"
    AUTOSCALER_CHOOSES = "AutoscalerChooses"
    BATCH = "Batch"
    DUPLICATE_GROUP = "DuplicateGroup"
    LEFTOVER_PODS = "LeftoverPods"
    POD_NOT_READY = "PodNotReady"
    CLEANUP_RUNNING = "CleanupRunning"
    LAST_FAILURE = "LastFailure"


_SENTENCES: dict[str, str] = {
    Because.MISSING: "it is not there yet",
    Because.DRIFTED: "it differs from what the spec asks for",
    Because.OWNER_CHANGED: "who owns it follows the deletion policy",
    Because.SCALE_UP: "the group has fewer Pods than asked for",
    Because.SCALE_DOWN: "the group has more Pods than asked for",
    Because.UNHEALTHY: "it has ended and will not recover by itself",
    Because.ASKED_FOR: "it is named in scaleStrategy.workersToDelete",
    Because.INCOMPLETE_REPLICA: "its multi-host replica has lost a Pod",
    Because.SUSPENDED: "the cluster is suspended",
    Because.GROUP_SUSPENDED: "its worker group is suspended",
    Because.GROUP_REMOVED: "its worker group is no longer in the spec",
    Because.SPEC_CHANGED: "the spec changed and upgradeStrategy is Recreate",
    Because.OPERATOR_CHANGED: "another operator version stamped it: the stamp is renewed, nothing restarts",
    Because.CLUSTER_DELETED: "the RayCluster is being deleted",
    Because.CLEANUP_PLEDGED: "Redis has to be emptied before the RayCluster may go",
    Because.CLEANUP_DUE: "the head is gone, so Redis can be emptied",
    Because.CLEANUP_OVER: "the Redis clean-up has ended",
    Because.CLEANUP_TIMED_OUT: "the Redis clean-up took too long",
    Because.CLEANUP_POINTLESS: "this cluster keeps nothing in Redis that could be emptied",
    Because.NOT_WANTED: "the spec no longer asks for it",
    Because.IMMUTABLE: "it cannot be changed in place, so it is made anew",
    Because.ADDRESSES_CHANGED: "the addresses of the Pods changed",
    Because.STATUS_CHANGED: "what is there differs from what the status says",
}


def explain(because: str) -> str:
    return _SENTENCES.get(because, because)
