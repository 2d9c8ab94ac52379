"""Which rights the default ClusterRoles hold and who has them: facts of Kubernetes 1.34, as data.

``default_roles`` makes objects of the rows. Verbs, resources, names and paths are separated by blanks, API groups by
commas (the core group is the empty one). The rights on ``extensions``, long gone, are kept because clients compare.
"""

from typing import TypeAlias

from heliostat.embedded.access.users import AUTHENTICATED, MASTERS, SERVICE_ACCOUNTS, UNAUTHENTICATED

# Verbs, API groups, resources and perhaps resource names; or verbs and paths.
Row: TypeAlias = tuple[str, str] | tuple[str, str, str] | tuple[str, str, str, str]

_READ = "get list watch"
_WRITE = "create delete deletecollection patch update"
_ALL = "create delete deletecollection get list patch update watch"

ROLES: dict[str, list[Row]] = {
    "cluster-admin": [
        ("*", "*", "*"),
        ("*", "*"),
    ],
    "system:aggregate-to-admin": [
        ("create", "authorization.k8s.io", "localsubjectaccessreviews"),
        (_ALL, "rbac.authorization.k8s.io", "rolebindings roles"),
    ],
    "system:aggregate-to-edit": [
        (_READ, "", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
        ("impersonate", "", "serviceaccounts"),
        (_WRITE, "", "pods pods/attach pods/exec pods/portforward pods/proxy"),
        ("create", "", "pods/eviction"),
        (
            _WRITE,
            "",
            """configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale
            secrets serviceaccounts services services/proxy""",
        ),
        ("create", "", "serviceaccounts/token"),
        (
            _WRITE,
            "apps",
            """daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale
            statefulsets statefulsets/scale""",
        ),
        (_WRITE, "autoscaling", "horizontalpodautoscalers"),
        (_WRITE, "batch", "cronjobs jobs"),
        (
            _WRITE,
            "extensions",
            """daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies
            replicasets replicasets/scale replicationcontrollers/scale""",
        ),
        (_WRITE, "policy", "poddisruptionbudgets"),
        (_WRITE, "networking.k8s.io", "ingresses networkpolicies"),
        (_ALL, "coordination.k8s.io", "leases"),
        (_WRITE, "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
    ],
    "system:aggregate-to-view": [
        (
            _READ,
            "",
            """configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods
            replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status""",
        ),
        (
            _READ,
            "",
            """bindings events limitranges namespaces/status pods/log pods/status replicationcontrollers/status
            resourcequotas resourcequotas/status""",
        ),
        (_READ, "", "namespaces"),
        (_READ, "discovery.k8s.io", "endpointslices"),
        (
            _READ,
            "apps",
            """controllerrevisions daemonsets daemonsets/status deployments deployments/scale
            deployments/status replicasets replicasets/scale replicasets/status statefulsets
            statefulsets/scale statefulsets/status""",
        ),
        (_READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
        (_READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
        (
            _READ,
            "extensions",
            """daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses
            ingresses/status networkpolicies replicasets replicasets/scale replicasets/status
            replicationcontrollers/scale""",
        ),
        (_READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
        (_READ, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
        (_READ, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
    ],
    "system:auth-delegator": [
        ("create", "authentication.k8s.io", "tokenreviews"),
        ("create", "authorization.k8s.io", "subjectaccessreviews"),
    ],
    "system:basic-user": [
        ("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
        ("create", "authentication.k8s.io", "selfsubjectreviews"),
    ],
    "system:discovery": [
        ("get", "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/"),
    ],
    "system:kube-scheduler": [
        ("create patch update", ",events.k8s.io", "events"),
        ("create", "coordination.k8s.io", "leases"),
        ("get list update watch", "coordination.k8s.io", "leases", "kube-scheduler"),
        (_ALL, "coordination.k8s.io", "leasecandidates"),
        (_READ, "", "nodes"),
        ("delete get list watch", "", "pods"),
        ("create", "", "bindings pods/binding"),
        ("patch update", "", "pods/status"),
        (_READ, "", "replicationcontrollers services"),
        (_READ, "apps,extensions", "replicasets"),
        (_READ, "apps", "statefulsets"),
        (_READ, "policy", "poddisruptionbudgets"),
        (_READ, "", "persistentvolumeclaims persistentvolumes"),
        ("create", "authentication.k8s.io", "tokenreviews"),
        ("create", "authorization.k8s.io", "subjectaccessreviews"),
        (_READ, "storage.k8s.io", "csinodes"),
        (_READ, "storage.k8s.io", "volumeattachments"),
        (_READ, "", "namespaces"),
        (_READ, "storage.k8s.io", "csidrivers"),
        (_READ, "storage.k8s.io", "csistoragecapacities"),
        (_READ, "resource.k8s.io", "deviceclasses"),
        ("get list patch update watch", "resource.k8s.io", "resourceclaims"),
        ("get list patch update watch", "resource.k8s.io", "resourceclaims/status"),
        ("update", "", "pods/finalizers"),
        (_READ, "resource.k8s.io", "resourceslices"),
    ],
    "system:monitoring": [
        ("get", "/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*"),
        ("get", "", "nodes/metrics"),
    ],
    "system:public-info-viewer": [
        ("get", "/healthz /livez /readyz /version /version/"),
    ],
    "system:service-account-issuer-discovery": [
        (
            "get",
            "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
        ),
    ],
}
# Collected roles, and the role each is itself collected into.
COLLECTED = {"admin": "", "edit": "admin", "view": "edit"}
BINDINGS: dict[str, list[tuple[str, str]]] = {
    "cluster-admin": [("Group", MASTERS)],
    "system:basic-user": [("Group", AUTHENTICATED)],
    "system:discovery": [("Group", AUTHENTICATED)],
    "system:kube-scheduler": [("User", "system:kube-scheduler")],
    "system:monitoring": [("Group", "system:monitoring")],
    "system:public-info-viewer": [("Group", AUTHENTICATED), ("Group", UNAUTHENTICATED)],
    "system:service-account-issuer-discovery": [("Group", SERVICE_ACCOUNTS)],
}
