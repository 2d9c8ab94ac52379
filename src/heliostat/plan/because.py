"""Every reason that all kinds share or a RayCluster's plan can give: one value each, with all that is said about it.

``Because`` is why something is written, ``Hold`` is why something waits. Other kinds have files of their own with the
same two bases (``heliostat.plan.reasons``). Nothing is decided here.
"""

from heliostat.plan.reasons import PEOPLE, Severity, Waiting, WhyWaiting, WhyWritten


class Because(WhyWritten):
    """Why an action is in the plan."""

    MISSING = "Missing", "it is not there yet"
    DRIFTED = "Drifted", "it differs from what the spec asks for"
    OWNER_CHANGED = "OwnerChanged", "its owner follows the deletion policy"
    SCALE_UP = "ScaleUp", "the group has fewer Pods than asked for"
    SCALE_DOWN = "ScaleDown", "the group has more Pods than asked for"
    UNHEALTHY = "Unhealthy", "it has terminated and will not restart"
    ASKED_FOR = "AskedFor", "it is named in scaleStrategy.workersToDelete"
    INCOMPLETE_REPLICA = "IncompleteReplica", "its multi-host replica has lost a Pod"
    SUSPENDED = "Suspended", "the cluster is suspended"
    GROUP_SUSPENDED = "GroupSuspended", "its worker group is suspended"
    GROUP_REMOVED = "GroupRemoved", "its worker group is no longer in the spec"
    SPEC_CHANGED = "SpecChanged", "the spec changed and upgradeStrategy is Recreate"
    OPERATOR_CHANGED = "OperatorChanged", "another operator version stamped it: the stamp is renewed, nothing restarts"
    CLUSTER_DELETED = "ClusterDeleted", "the RayCluster is being deleted"
    CLEANUP_PLEDGED = "CleanupPledged", "a finalizer: Redis is emptied before the RayCluster is deleted"
    CLEANUP_DUE = "CleanupDue", "the head is gone, so Redis can be emptied"
    CLEANUP_OVER = "CleanupOver", "the Redis clean-up has ended"
    CLEANUP_TIMED_OUT = "CleanupTimedOut", "the Redis clean-up took too long"
    CLEANUP_POINTLESS = "CleanupPointless", "this cluster keeps nothing in Redis that could be emptied"
    NOT_WANTED = "NotWanted", "the spec no longer asks for it"
    IMMUTABLE = "Immutable", "it is immutable, so it is recreated"
    ADDRESSES_CHANGED = "AddressesChanged", "the addresses of the Pods changed"
    STATUS_CHANGED = "StatusChanged", "what is there differs from what the status says"


class Hold(WhyWaiting):
    """Why a plan waits."""

    MANAGED_ELSEWHERE = (
        "ManagedElsewhere",
        Waiting(
            meaning="another controller manages it",
            fix="ask that controller, or make a RayCluster without spec.managedBy",
            verdict="is left to another controller",
        ),
    )
    REFUSED = (
        "Refused",
        Waiting(
            meaning="the operator refuses the spec",
            fix="correct what the message names",
            verdict="is refused",
            mended_by=PEOPLE,
        ),
    )
    BEING_DELETED = "BeingDeleted", Waiting(meaning="it is being deleted", verdict="is being deleted")
    NOT_KNOWN = (
        "NotKnown",
        Waiting(
            meaning="an object or kind that it needs cannot be read",
            fix="grant the operator RBAC to read it, or install its CRD",
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
        Waiting(meaning="a name that it needs is taken: an object with another owner has it", mended_by=PEOPLE),
    )
    TOO_MANY = "TooMany", Waiting(meaning="there are more objects than there may be", mended_by=PEOPLE)
    SERVICE_ACCOUNT_MISSING = (
        "ServiceAccountMissing",
        Waiting(meaning="the ServiceAccount that its Pods run as does not exist", mended_by=PEOPLE),
    )
    CLAIM_MISSING = (
        "ClaimMissing",
        Waiting(meaning="the PersistentVolumeClaim that it keeps its data in does not exist", mended_by=PEOPLE),
    )
    CERTIFICATES = (
        "CertificatesNotReady",
        Waiting(meaning="its certificates are not issued yet", fix="look at cert-manager if this takes minutes"),
    )
    SUSPENDING = (
        "Suspending",
        Waiting(
            meaning="its Pods are being deleted",
            fix="set spec.suspend to false to resume",
            verdict="is being suspended",
        ),
    )
    SUSPENDED = (
        "Suspended",
        Waiting(
            meaning="it is suspended and has no Pods",
            fix="set spec.suspend to false to resume it",
            verdict="is suspended",
        ),
    )
    RECREATING = (
        "Recreating",
        Waiting(meaning="all Pods are being recreated because the spec changed", verdict="is being recreated"),
    )
    HEAD_NOT_RESTARTED = (
        "HeadNotRestarted",
        Waiting(meaning="the head Pod has terminated and is not restarted", mended_by=PEOPLE),
    )
    SEVERAL_HEADS = "SeveralHeads", Waiting(meaning="it has several head Pods", mended_by=PEOPLE)
    TERMINATING = "Terminating", Waiting(meaning="terminating Pods still count towards the size of their group")
    ENDED_AT_ONCE = (
        "EndedAtOnce",
        Waiting(
            meaning="a Pod terminated right after its start, and is replaced with a delay (back-off)",
            fix="read its events and its log",
        ),
    )
    AUTOSCALER_CHOOSES = (
        "AutoscalerChooses",
        Waiting(meaning="the autoscaler has to choose which workers are deleted", severity=Severity.HARMLESS),
    )
    BATCH = "Batch", Waiting(meaning="its Pods are created in batches")
    DUPLICATE_GROUP = "DuplicateGroup", Waiting(meaning="two worker groups have the same name", mended_by=PEOPLE)
    LEFTOVER_PODS = (
        "LeftoverPods",
        Waiting(meaning="Pods of a former spec are left over", mended_by=PEOPLE, severity=Severity.HARMLESS),
    )
    POD_NOT_READY = "PodNotReady", Waiting(meaning="Pods are created but not ready", severity=Severity.FOLLOWS)
    CLEANUP_RUNNING = "CleanupRunning", Waiting(meaning="Redis is being cleaned up first", verdict="is being deleted")
    LAST_FAILURE = "LastFailure", Waiting(meaning="the last reconcile failed")
