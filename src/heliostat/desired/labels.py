"""Label and annotation keys, and how a Pod's labels come together (constants.md §2).

Order: KubeRay's own labels, then the template's, then the group's; three keys that selectors rely on cannot be
overridden. Index labels and operator-wide defaults are added later, by the Pod builders.
"""

from heliostat.desired.names import check_label

CLUSTER = "ray.io/cluster"
NODE_TYPE = "ray.io/node-type"
GROUP = "ray.io/group"
IDENTIFIER = "ray.io/identifier"
IS_RAY_NODE = "ray.io/is-ray-node"
APP_NAME = "app.kubernetes.io/name"
CREATED_BY = "app.kubernetes.io/created-by"
COMPONENT = "app.kubernetes.io/component"
SERVE = "ray.io/serve"
HEADLESS_SERVICE = "ray.io/headless-worker-svc"
REPLICA_INDEX = "ray.io/worker-group-replica-index"
REPLICA_NAME = "ray.io/worker-group-replica-name"
HOST_INDEX = "ray.io/replica-host-index"
ORIGIN_NAME = "ray.io/originated-from-cr-name"
ORIGIN_KIND = "ray.io/originated-from-crd"
SUBMISSION_MODE = "ray.io/job-submission-mode"
PRIORITY_CLASS = "ray.io/priority-class-name"
GANG_SCHEDULING = "ray.io/gang-scheduling-enabled"

FT_ENABLED = "ray.io/ft-enabled"
STORAGE_NAMESPACE = "ray.io/external-storage-namespace"
OVERWRITE_COMMAND = "ray.io/overwrite-container-cmd"
ENABLE_SERVE_SERVICE = "ray.io/enable-serve-service"
DISABLE_HEAD_RESTART = "ray.io/disable-provisioned-head-restart"
SPEC_HASH = "ray.io/upgrade-strategy-recreate-hash"
OPERATOR_VERSION = "ray.io/kuberay-version"
INGRESS_CLASS = "kubernetes.io/ingress.class"

HEAD = "head"
WORKER = "worker"
REDIS_CLEANUP = "redis-cleanup"
HEAD_GROUP = "headgroup"
SUBMITTER_GROUP = "submittergroup"

APP = "kuberay"
OPERATOR = "kuberay-operator"

_NOT_OVERRIDABLE = frozenset({CLUSTER, NODE_TYPE, GROUP})


def identifier(cluster: str, node_type: str) -> str:
    return check_label(f"{cluster}-{node_type}")


def build_pod_labels(
    cluster: str,
    node_type: str,
    group: str,
    template_labels: dict[str, str] | None,
    group_labels: dict[str, str] | None,
) -> dict[str, str]:
    labels = {
        IS_RAY_NODE: "yes",
        CLUSTER: cluster,
        NODE_TYPE: node_type,
        GROUP: group,
        IDENTIFIER: identifier(cluster, node_type),
        APP_NAME: APP,
        CREATED_BY: OPERATOR,
    }
    for overlay in (template_labels or {}, group_labels or {}):
        labels |= {key: value for key, value in overlay.items() if key not in _NOT_OVERRIDABLE}
    return labels


def head_service_labels(cluster: str, template_labels: dict[str, str] | None) -> dict[str, str]:
    """Both the head Service's labels and its selector: the app name follows the head template's."""
    return {
        CLUSTER: cluster,
        NODE_TYPE: HEAD,
        IDENTIFIER: identifier(cluster, HEAD),
        APP_NAME: (template_labels or {}).get(APP_NAME, APP),
        CREATED_BY: OPERATOR,
    }


def owned_labels(cluster: str) -> dict[str, str]:
    return {CLUSTER: cluster, APP_NAME: APP, CREATED_BY: OPERATOR}
