"""Objects that a cluster has one of: create what is missing, keep what is there (raycluster.md §4).

| object | found by | when it is there |
|---|---|---|
| ServiceAccount, Role, RoleBinding, auth Secret, serve Service | name | kept, whoever made it |
| head and headless Service | labels and our UID | kept; two head Services, or somebody else's under the name: wait |
| Route | label | kept |

Nothing here updates anything: Ingress and claim, which are kept in step, have modules of their own.
"""

from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.desired.names import serve_service_name
from heliostat.desired.slots import Impossible, Slot
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import ROUTE, SERVICE, SERVICE_ACCOUNT
from heliostat.kube.plan import Create, Event
from heliostat.plan.because import Because, Hold
from heliostat.plan.draft import NOTHING, Part, wait_for
from heliostat.plan.ensure import create, create_unless_taken, ensure_by_name, matches, wait_for_knowledge
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.reports import WARNING


def ensure_service_account(wanted: JsonObject | None, users: str | None, observed: ObservedCluster) -> Part:
    if users is None:
        return ensure_by_name(wanted, observed)
    found = observed.find(SERVICE_ACCOUNT, users)
    if isinstance(found, Unknown):
        return wait_for_knowledge(f"ServiceAccount {users}", found)
    if found is not None:
        return NOTHING
    message = f"the head template names ServiceAccount {users}, which does not exist"
    told = _account_not_found(users, observed)
    return wait_for(Hold.SERVICE_ACCOUNT_MISSING, message, f"ServiceAccount {users} is created", events=(told,))


def _account_not_found(account: str, observed: ObservedCluster) -> Event:
    metadata = observed.cluster.metadata
    note = (
        f"Failed to reconcile RayCluster {metadata.namespace}/{metadata.name}. If users specify ServiceAccountName for "
        "the head Pod, they need to create a ServiceAccount themselves. However, ServiceAccount "
        f"{account} is not found. Please create one. See the PR description of "
        "https://github.com/ray-project/kuberay/pull/1128 for more details."
    )
    return Event(WARNING, "AutoscalerServiceAccountNotFound", "Validate", note)


def ensure_head_service(wanted: JsonObject, observed: ObservedCluster) -> Part:
    services = head_services(observed)
    if isinstance(services, Unknown):
        return wait_for_knowledge("the head Service", services)
    if len(services) > 1:
        names = ", ".join(str(tree["metadata"]["name"]) for tree in services)
        return wait_for(Hold.TOO_MANY, f"{len(services)} head Services found: {names}", "all but one are deleted")
    return NOTHING if services else create_unless_taken(wanted, observed)


def head_services(observed: ObservedCluster) -> tuple[JsonObject, ...] | Unknown:
    """Ours, by the labels that select them.

    Differs from KubeRay: R4-25 counts any Service with these labels, also one that a deleted cluster has left.
    """
    name = observed.cluster.metadata.name
    selector = {
        labels.CLUSTER: name,
        labels.NODE_TYPE: labels.HEAD,
        labels.IDENTIFIER: labels.identifier(name, labels.HEAD),
    }
    owned = observed.list_owned(SERVICE)
    return owned if isinstance(owned, Unknown) else tuple(tree for tree in owned if matches(tree, selector))


def ensure_headless_service(wanted: JsonObject | None, observed: ObservedCluster) -> Part:
    if wanted is None:
        return NOTHING
    owned = observed.list_owned(SERVICE)
    if isinstance(owned, Unknown):
        return wait_for_knowledge("the headless Service", owned)
    selector = {labels.HEADLESS_SERVICE: observed.cluster.metadata.name}
    if any(matches(tree, selector) for tree in owned):
        return NOTHING
    return create_unless_taken(wanted, observed)


def ensure_serve_service(wanted: Slot, observed: ObservedCluster) -> Part:
    if isinstance(wanted, Impossible):
        found = observed.find(SERVICE, serve_service_name(observed.cluster.metadata.name))
        is_there = isinstance(found, dict)  # KubeRay: R4-40, then nothing has to be built
        return NOTHING if is_there else wait_for(Hold.IMPOSSIBLE, wanted.message, "the spec is changed")
    part = ensure_by_name(wanted, observed)
    if wanted is None or not part.actions:
        return part
    return Part(actions=(Create(wanted, Because.MISSING),))  # KubeRay: R4-40, no event


def ensure_route(wanted: JsonObject | None, observed: ObservedCluster) -> Part:
    if wanted is None:
        return NOTHING
    routes = observed.list_kind(ROUTE)
    if isinstance(routes, Unknown):
        return wait_for_knowledge("the Route", routes)
    selector = {labels.CLUSTER: observed.cluster.metadata.name}
    return NOTHING if any(matches(tree, selector) for tree in routes) else create(wanted)
