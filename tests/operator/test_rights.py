"""The table of rights: what follows from it, and that it says what the code does."""

from typing import Any

import pytest

from heliostat.api.settings import Settings, default_gates
from heliostat.desired.raycluster.context import build_context
from heliostat.desired.raycluster.rbac import build_role
from heliostat.operator.kinds import RAY_CLUSTER, kinds_around
from heliostat.operator.rights import NEED_WORDS, RIGHTS, Need, build_rules, covers, needs_of, rights_for
from heliostat.operator.used_rights import Use, list_ungranted, list_unused, read_use
from heliostat.runtime.transport import Call
from ray_documents import cluster


def settings(*gates: str, **values: Any) -> Settings:
    return Settings(gates={**default_gates(), **dict.fromkeys(gates, True)}, **values)


CLUSTERS = ("ray.io", "rayclusters")
LEASES = ("coordination.k8s.io", "leases")
EVERYTHING = (
    settings(),
    settings("GCSFaultToleranceEmbeddedStorage", "RayClusterNetworkPolicy", "RayClusterMTLS", openshift_route=True),
    settings("KubernetesWAS"),
    settings("RayCronJob"),
    settings(batch_scheduler="volcano"),
    settings(batch_scheduler="scheduler-plugins"),
)


@pytest.mark.parametrize("chosen", EVERYTHING)
def test_whatever_is_watched_may_be_read(chosen: Settings) -> None:
    needs = needs_of(chosen)
    for kind in kinds_around(chosen).values():
        for verb in ("get", "list", "watch", "create"):
            assert covers(verb, kind.resource.group, kind.resource.plural, needs=needs), f"{verb} {kind}"


def test_every_need_comes_up_with_some_settings() -> None:
    found = frozenset[Need]().union(*map(needs_of, EVERYTHING), needs_of(Settings(), uses_proxy=True))
    assert found == frozenset(Need)
    assert set(NEED_WORDS) == set(Need)


def test_without_a_feature_its_rights_are_not_asked_for() -> None:
    groups = {right.group for right in rights_for(needs_of(Settings()))}
    assert not groups & {"cert-manager.io", "route.openshift.io", "scheduling.volcano.sh", "scheduling.k8s.io"}
    assert Need.ELECTION not in needs_of(Settings(), has_election=False)


def test_whatever_the_autoscaler_is_granted_the_operator_holds() -> None:
    role = build_role(build_context(cluster({"enableInTreeAutoscaling": True}), Settings()))
    assert role is not None
    for rule in role["rules"]:
        for resource in rule["resources"]:
            name, _, subresource = resource.partition("/")
            for verb in rule["verbs"]:
                assert covers(verb, rule["apiGroups"][0], name, subresource, frozenset({Need.ALWAYS}))


def test_owners_may_be_blocked() -> None:
    assert covers("update", RAY_CLUSTER.group, RAY_CLUSTER.plural, "finalizers")


@pytest.mark.parametrize(
    "use",
    [
        Use("create", "ray.io", "raycronjobs"),
        Use("deletecollection", "", "pods"),
        Use("create", "", "nodes"),
        Use("update", "ray.io", "rayclusters", "status"),
        Use("delete", "", "secrets"),
        Use("get", "apps", "pods"),
    ],
    ids=str,
)
def test_what_the_operator_never_does_is_not_allowed(use: Use) -> None:
    assert list_ungranted([use]) == [use]


def test_rules_hold_exactly_the_rights() -> None:
    granted = {
        (verb, rule["apiGroups"][0], resource)
        for rule in build_rules(RIGHTS)
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert granted == {(verb, right.group, right.resource) for right in RIGHTS for verb in right.verbs}


def test_a_resource_has_one_rule() -> None:
    named = [(rule["apiGroups"][0], resource) for rule in build_rules(RIGHTS) for resource in rule["resources"]]
    assert len(named) == len(set(named))


@pytest.mark.parametrize(
    ("method", "path", "query", "use"),
    [
        ("GET", "/api/v1/pods", (), Use("list", "", "pods")),
        ("GET", "/api/v1/namespaces/a/pods", (("watch", "true"),), Use("watch", "", "pods")),
        ("GET", "/api/v1/namespaces/a/pods/b", (), Use("get", "", "pods")),
        ("GET", "/api/v1/namespaces/a", (), Use("get", "", "namespaces")),
        ("POST", "/api/v1/namespaces/a/pods", (), Use("create", "", "pods")),
        ("PATCH", "/apis/ray.io/v1/namespaces/a/rayclusters/b/status", (), Use("patch", *CLUSTERS, "status")),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b", (), Use("update", *LEASES)),
        ("DELETE", "/api/v1/namespaces/a/pods/b", (), Use("delete", "", "pods")),
        ("DELETE", "/api/v1/namespaces/a/pods", (), Use("deletecollection", "", "pods")),
        ("GET", "/apis", (), None),
        ("GET", "/apis/ray.io/v1", (), None),
        ("GET", "/version", (), None),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", (), None),
    ],
)  # fmt: skip
def test_a_call_is_read_as_the_authorizer_reads_it(
    method: str, path: str, query: tuple[tuple[str, str], ...], use: Use | None
) -> None:
    assert read_use(Call(method=method, path=path, query=query)) == use


def test_what_is_granted_and_never_used_is_found() -> None:
    needed = rights_for(frozenset({Need.ELECTION}))
    used = {Use("create", *LEASES)}
    assert list_unused(used, needed) == [Use("update", *LEASES)]
    assert list_unused((), [right for right in RIGHTS if right.is_indirect]) == []
