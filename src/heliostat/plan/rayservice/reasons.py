"""Every reason a RayService's plan can give, each one value with all that is to be said about it."""

from heliostat.plan.reasons import PEOPLE, Severity, Waiting, WhyWaiting, WhyWritten


class Because(WhyWritten):
    """Why an action is in the plan."""

    PLEDGED = "Pledged", "a finalizer: its clusters are deleted before the RayService is"
    DELETED = "Deleted", "the RayService is being deleted"
    REFUSED = "Refused", "the spec is refused"
    SUSPENDED = "Suspended", "the service is suspended"
    CLUSTER_NEEDED = "ClusterNeeded", "the cluster that the status names is not there yet"
    GROUPS_ADDED = "GroupsAdded", "worker groups were added, which a running cluster takes up"
    OPERATOR_CHANGED = "OperatorChanged", "another operator version stamped it: the stamp is renewed, nothing restarts"
    UNUSED = "Unused", "no request goes to the cluster any more: since when is noted"
    UNUSED_LONG_ENOUGH = "UnusedLongEnough", "no request has gone to the cluster for rayClusterDeletionDelaySeconds"
    CONFIG_DIFFERS = "ConfigDiffers", "Serve reports other applications than spec.serveConfigV2 asks for"
    PROXY_CHANGED = "ProxyChanged", "the head's Serve proxy takes requests now, or no longer does"
    READY = "Ready", "the cluster's applications run, and requests can go there"
    MISSING = "Missing", "it is not there yet"
    GATEWAY_DIFFERS = "GatewayDiffers", "the Gateway is not as clusterUpgradeOptions asks for"
    WEIGHTS_MOVE = "WeightsMove", "requests are split in another way between the clusters now"
    CAPACITY_MOVES = "CapacityMoves", "an upgrade gives this cluster another share of the capacity"
    MOVED = "Moved", "requests go to another cluster now"
    STATUS_CHANGED = "StatusChanged", "what is there differs from what the status says"


class Hold(WhyWaiting):
    """Why a plan waits."""

    CLUSTER_STARTS = (
        "ClusterStarts",
        Waiting(meaning="the head of its cluster is not ready yet", verdict="waits for its cluster"),
    )
    NO_DASHBOARD = (
        "NoDashboardPort",
        Waiting(
            meaning="the head offers no port named dashboard, where Serve is configured",
            fix="name the dashboard's port so in the head container or in headService",
            mended_by=PEOPLE,
        ),
    )
    SERVE_SILENT = "ServeSilent", Waiting(meaning="Serve has not told yet which applications it runs")
    CONFIG_IMPOSSIBLE = (
        "ConfigImpossible",
        Waiting(meaning="spec.serveConfigV2 cannot be given to Serve", fix="correct it", mended_by=PEOPLE),
    )
    NO_APPLICATIONS = (
        "NoApplications",
        Waiting(meaning="spec.serveConfigV2 asks for no application", fix="name one there", mended_by=PEOPLE),
    )
    CONFIG_REFUSED = (
        "ConfigRefused",
        Waiting(meaning="Serve refused spec.serveConfigV2", fix="correct it", mended_by=PEOPLE),
    )
    DEPLOYING = "Deploying", Waiting(meaning="Serve has the configuration and its applications are not all running")
    SERVES_OTHERS = "ServesOthers", Waiting(meaning="Serve took the configuration and reports another one")
    NO_ENDPOINT = (
        "NoEndpoint",
        Waiting(
            meaning="no Pod of the next cluster could answer requests yet, so they still go to the one before",
            fix="look at the readiness of its Pods; with excludeHeadPodFromServeSvc it needs a worker",
        ),
    )
    UPGRADE = "Upgrade", Waiting(meaning="a cluster of the new spec gets ready beside the one that serves")
    UPGRADE_OFF = (
        "UpgradeOff",
        Waiting(
            meaning="the spec asks for another cluster, and upgrades are turned off",
            fix="set spec.upgradeStrategy.type to NewCluster, or make the RayService anew",
            mended_by=PEOPLE,
            severity=Severity.HARMLESS,
        ),
    )
    NO_GATEWAY_API = (
        "NoGatewayApi",
        Waiting(
            meaning="the Gateway API cannot be read, so an incremental upgrade has nothing to split requests with",
            fix="install the Gateway API (v1) and one of its implementations, or use the upgrade type NewCluster",
            mended_by=PEOPLE,
        ),
    )
    GATEWAY = (
        "GatewayNotReady",
        Waiting(
            meaning="no controller has programmed the Gateway of an incremental upgrade yet",
            fix="set spec.upgradeStrategy.clusterUpgradeOptions.gatewayClassName to a GatewayClass that this"
            " Kubernetes has: kubectl get gatewayclass",
        ),
    )
    NO_GATEWAY_CLASS = (
        "NoGatewayClass",
        Waiting(
            meaning="the spec names a GatewayClass that nobody carries out, so the Gateway keeps the one that it has",
            fix="set spec.upgradeStrategy.clusterUpgradeOptions.gatewayClassName to a GatewayClass that this"
            " Kubernetes has: kubectl get gatewayclass",
            mended_by=PEOPLE,
        ),
    )
    ROUTE = "RouteNotReady", Waiting(meaning="the Gateway's controller has not accepted the HTTPRoute as it is now")
    STEP = "UpgradeStep", Waiting(meaning="an incremental upgrade waits for its next step")
    NEVER_MOVES = (
        "NeverMoves",
        Waiting(
            meaning="with a surge or a step of 0 percent an incremental upgrade never makes progress",
            fix="raise maxSurgePercent and stepSizePercent in spec.upgradeStrategy.clusterUpgradeOptions",
            mended_by=PEOPLE,
        ),
    )
    GIVEN_UP = (
        "UpgradeGivenUp",
        Waiting(
            meaning="the upgrade took longer than heliostat.dev/upgrade-deadline allows, and was undone",
            fix="see why the new cluster did not get ready, then change the spec: it is tried again",
            mended_by=PEOPLE,
        ),
    )
    ROLLBACK = "Rollback", Waiting(meaning="requests go back to the cluster that served before the upgrade")
    UNUSED = (
        "UnusedCluster",
        Waiting(meaning="a cluster that served before is deleted later", severity=Severity.HARMLESS),
    )
    LEAVING = "Leaving", Waiting(meaning="its objects are being deleted")
    SUSPENDED = (
        "Suspended",
        Waiting(
            meaning="the service is suspended", fix="set spec.suspend to false to resume it", verdict="is suspended"
        ),
    )
    TIMED_OUT = (
        "InitializingTimeout",
        Waiting(
            meaning="it did not become ready in the time that ray.io/initializing-timeout allows",
            fix="suspend and resume it, or make it anew",
            verdict="has been given up",
            mended_by=PEOPLE,
        ),
    )
    NO_REQUESTS = "NoRequests", Waiting(meaning="no Pod is ready for requests")
