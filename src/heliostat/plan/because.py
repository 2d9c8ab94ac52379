"""Every reason a RayCluster's plan can give, each one value with all that is to be said about it.

``Because`` is why something is written, ``Hold`` is why something waits. Other kinds have files of their own with the
same two bases (``heliostat.plan.reasons``). Nothing is decided here.
"""

from heliostat.plan.reasons import PEOPLE, Severity, Waiting, WhyWaiting, WhyWritten


class Because(WhyWritten):
    """Why an action is in the plan."""

    MISSING = "Missing", "it is not there yet"
    DRIFTED = "Drifted", "it differs from what the spec asks for"
    OWNER_CHANGED = "OwnerChanged", "who owns it follows the deletion policy"
    SCALE_UP = "ScaleUp", "the group has fewer Pods than asked for"
    SCALE_DOWN = "ScaleDown", "the group has more Pods than asked for"
    UNHEALTHY = "Unhealthy", "it has ended and will not recover by itself"
    ASKED_FOR = "AskedFor", "it is named in scaleStrategy.workersToDelete"
    INCOMPLETE_REPLICA = "IncompleteReplica", "its multi-host replica has lost a Pod"
    SUSPENDED = "Suspended", "the cluster is suspended"
    GROUP_SUSPENDED = "GroupSuspended", "its worker group is suspended"
    GROUP_REMOVED = "GroupRemoved", "its worker group is no longer in the spec"
    SPEC_CHANGED = "SpecChanged", "the spec changed and upgradeStrategy is Recreate"
    OPERATOR_CHANGED = "OperatorChanged", "another operator version stamped it: the stamp is renewed, nothing restarts"
    CLUSTER_DELETED = "ClusterDeleted", "the RayCluster is being deleted"
    CLEANUP_PLEDGED = "CleanupPledged", "Redis has to be emptied before the RayCluster may go"
    CLEANUP_DUE = "CleanupDue", "the head is gone, so Redis can be emptied"
    CLEANUP_OVER = "CleanupOver", "the Redis clean-up has ended"
    CLEANUP_TIMED_OUT = "CleanupTimedOut", "the Redis clean-up took too long"
    CLEANUP_POINTLESS = "CleanupPointless", "this cluster keeps nothing in Redis that could be emptied"
    NOT_WANTED = "NotWanted", "the spec no longer asks for it"
    IMMUTABLE = "Immutable", "it cannot be changed in place, so it is made anew"
    ADDRESSES_CHANGED = "AddressesChanged", "the addresses of the Pods changed"
    STATUS_CHANGED = "StatusChanged", "what is there differs from what the status says"


class Hold(WhyWaiting):
    """Why a plan waits."""

    MANAGED_ELSEWHERE = (
        "ManagedElsewhere",
        Waiting(
            meaning="another controller looks after it",
            fix="ask that controller, or make a RayCluster without spec.managedBy",
            verdict="is left to another controller",
        ),
    )
    REFUSED = "Refused", Waiting(meaning="the operator refuses the spec", verdict="is refused")
    BEING_DELETED = "BeingDeleted", Waiting(meaning="it is on its way out", verdict="is being deleted")
    NOT_KNOWN = (
        "NotKnown",
        Waiting(
            meaning="something around it cannot be read",
            fix="grant the right to read it, or install its kind",
            mended_by=PEOPLE,
        ),
    )
    BLOCKED = "Blocked", Waiting(meaning="it needs something else that waits", severity=Severity.FOLLOWS)
    IMPOSSIBLE = (
        "Impossible",
        Waiting(
            meaning="a part of it cannot be built from this spec", fix="change what the message names", mended_by=PEOPLE
        ),
    )
    NAME_TAKEN = (
        "NameTaken",
        Waiting(meaning="a name that it needs is taken by an object of somebody else", mended_by=PEOPLE),
    )
    TOO_MANY = "TooMany", Waiting(meaning="there are more objects than there may be", mended_by=PEOPLE)
    SERVICE_ACCOUNT_MISSING = (
        "ServiceAccountMissing",
        Waiting(meaning="the ServiceAccount that its Pods run as does not exist", mended_by=PEOPLE),
    )
    CLAIM_MISSING = (
        "ClaimMissing",
        Waiting(meaning="the claim that it keeps its data in does not exist", mended_by=PEOPLE),
    )
    CERTIFICATES = (
        "CertificatesNotReady",
        Waiting(meaning="its certificates are not issued yet", fix="look at cert-manager if this takes minutes"),
    )
    SUSPENDING = (
        "Suspending",
        Waiting(
            meaning="its Pods are being removed",
            fix="set spec.suspend to false to resume",
            verdict="is being suspended",
        ),
    )
    SUSPENDED = (
        "Suspended",
        Waiting(
            meaning="it has no Pods on purpose", fix="set spec.suspend to false to resume it", verdict="is suspended"
        ),
    )
    RECREATING = (
        "Recreating",
        Waiting(meaning="all Pods are made anew, because the spec changed", verdict="is being made anew"),
    )
    HEAD_NOT_RESTARTED = (
        "HeadNotRestarted",
        Waiting(meaning="the head has ended and is not started again", mended_by=PEOPLE),
    )
    SEVERAL_HEADS = "SeveralHeads", Waiting(meaning="it has several heads", mended_by=PEOPLE)
    TERMINATING = "Terminating", Waiting(meaning="Pods that are being deleted still hold their places")
    ENDED_AT_ONCE = (
        "EndedAtOnce",
        Waiting(meaning="a Pod ended as soon as it was made", fix="look at why it ended: its events and its log"),
    )
    AUTOSCALER_CHOOSES = (
        "AutoscalerChooses",
        Waiting(meaning="the autoscaler has to choose which workers go", severity=Severity.HARMLESS),
    )
    BATCH = "Batch", Waiting(meaning="its Pods are made in several steps")
    DUPLICATE_GROUP = "DuplicateGroup", Waiting(meaning="two worker groups have the same name", mended_by=PEOPLE)
    LEFTOVER_PODS = (
        "LeftoverPods",
        Waiting(meaning="Pods of a former spec are left over", mended_by=PEOPLE, severity=Severity.HARMLESS),
    )
    POD_NOT_READY = "PodNotReady", Waiting(meaning="Pods are made but not ready", severity=Severity.FOLLOWS)
    CLEANUP_RUNNING = "CleanupRunning", Waiting(meaning="Redis is being emptied first", verdict="is being deleted")
    LAST_FAILURE = "LastFailure", Waiting(meaning="the last attempt failed")
