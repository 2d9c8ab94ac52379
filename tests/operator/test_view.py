"""Lookups around a cluster: what is found, what is unknown, and who is woken when something appears."""

from typing import Any

import msgspec
from msgspec.structs import replace

from heliostat.api.settings import Settings, default_gates
from heliostat.kube.facts import Unknown
from heliostat.kube.lookups import (
    CERTIFICATE,
    CLAIM,
    GATEWAY_CLASS,
    INGRESS,
    ISSUER,
    JOB,
    NETWORK_POLICY,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    VOLCANO_GROUP,
    WORKLOAD,
    WORKLOAD_GROUP,
)
from heliostat.kube.objects import Key, Metadata, Object, OwnerReference
from heliostat.operator.kinds import HEARD_WHEN_GONE, WholeObject, kinds_around, kinds_around_services
from heliostat.operator.scope import cache_dispensable
from heliostat.operator.view import CachedObjects, Interests, when_gone
from heliostat.runtime.cache import CacheWriter
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import its_controller

CLUSTER = Key("ns", "demo")
UID = "uid-demo"


class View:
    def __init__(self) -> None:
        caches = Caches()
        self.around = {kind: cache_dispensable(caches, of, ()) for kind, of in kinds_around(Settings()).items()}
        self.interests = Interests()

    def objects(self) -> CachedObjects:
        return CachedObjects(CLUSTER, UID, self.around, self.interests)

    def show(self, kind: str, *items: Object) -> None:
        (cache,) = self.around[kind]
        CacheWriter(cache).replace(items, 10)

    def refuse(self, kind: str, why: str) -> None:
        (cache,) = self.around[kind]
        CacheWriter(cache).refuse(why)

    def woken_by(self, kind: str, item: Object) -> list[Key]:
        return list(self.interests.awaiting(kind)(None, item))


def metadata(name: str, namespace: str = "ns", owner: str = "") -> Metadata:
    reference = OwnerReference("ray.io/v1", "RayCluster", "demo", owner, controller=True)
    return Metadata(
        name=name,
        namespace=namespace,
        uid=f"uid-{name}",
        resource_version="9",
        owner_references=(reference,) if owner else (),
        finalizers=("keep",),
    )


def service(name: str, owner: str = "", **spec: Any) -> WholeObject:
    return WholeObject(metadata=metadata(name, owner=owner), spec=msgspec.Raw(msgspec.json.encode(spec)))


def test_a_found_object_is_a_tree_like_any_other() -> None:
    view = View()
    view.show(SERVICE, service("demo-head-svc", owner=UID, clusterIP="None"))
    found = view.objects().find(SERVICE, "demo-head-svc")
    assert isinstance(found, dict)
    assert (found["apiVersion"], found["kind"]) == ("v1", "Service")
    assert found["spec"] == {"clusterIP": "None"}
    assert found["metadata"]["finalizers"] == ["keep"]
    assert found["metadata"]["ownerReferences"][0]["uid"] == UID


def test_owned_are_only_those_that_the_uid_controls_by_name() -> None:
    view = View()
    view.show(SERVICE, service("b", owner=UID), service("a", owner=UID), service("c", owner="uid-of-an-earlier-demo"))
    owned = view.objects().list_owned(SERVICE, UID)
    assert isinstance(owned, tuple)
    assert [tree["metadata"]["name"] for tree in owned] == ["a", "b"]


def test_objects_of_other_namespaces_are_not_seen() -> None:
    view = View()
    view.show(SERVICE, WholeObject(metadata=metadata("demo-head-svc", namespace="elsewhere")))
    assert view.objects().find(SERVICE, "demo-head-svc") is None
    assert view.objects().list_kind(SERVICE) == ()


def test_what_the_server_does_not_show_is_unknown_and_not_missing() -> None:
    view = View()
    view.refuse(INGRESS, "ingresses is forbidden")
    objects = view.objects()
    assert objects.find(INGRESS, "x") == Unknown("ingresses is forbidden")
    assert objects.has_unknown
    assert isinstance(objects.list_owned(SERVICE, UID), Unknown)


def test_what_may_be_there_is_found_or_not_and_nobody_looks_again_because_it_cannot_be_read() -> None:
    view = View()
    view.refuse(INGRESS, "ingresses is forbidden")
    view.show(SERVICE, service("demo-head-svc", owner=UID))
    objects = view.objects()
    assert objects.find_if_read(INGRESS, "x") is None
    assert objects.find_if_read(CLAIM, "x") is None
    assert objects.find_if_read(SERVICE, "another") is None
    assert objects.find_if_read(SERVICE, "demo-head-svc") == objects.find(SERVICE, "demo-head-svc")
    assert not objects.has_unknown


def test_what_is_of_the_whole_cluster_is_found_from_every_namespace() -> None:
    view, caches = View(), Caches()
    kind = kinds_around_services(Settings())[GATEWAY_CLASS]
    view.around[GATEWAY_CLASS] = cache_dispensable(caches, kind, ("ns", "another"))
    view.show(GATEWAY_CLASS, WholeObject(metadata=metadata("any", namespace="")))
    objects = view.objects()
    assert isinstance(objects.find(GATEWAY_CLASS, "any"), dict)
    assert objects.find(GATEWAY_CLASS, "mistyped") is None
    assert view.woken_by(GATEWAY_CLASS, WholeObject(metadata=metadata("mistyped", namespace=""))) == [CLUSTER]


def test_a_kind_that_no_gate_asks_for_is_unknown_without_being_looked_at_again() -> None:
    objects = View().objects()
    assert isinstance(objects.find(CLAIM, "x"), Unknown)
    assert not objects.has_unknown


def test_what_was_looked_for_in_vain_wakes_the_cluster_when_it_appears() -> None:
    view = View()
    view.show(SERVICE_ACCOUNT)
    assert view.objects().find(SERVICE_ACCOUNT, "mine") is None
    appeared = Object(metadata("mine"))
    assert view.woken_by(SERVICE_ACCOUNT, appeared) == [CLUSTER]
    assert view.woken_by(SERVICE_ACCOUNT, Object(metadata("other"))) == []
    view.interests.forget(CLUSTER)
    assert view.woken_by(SERVICE_ACCOUNT, appeared) == []


def test_somebody_elses_object_under_our_name_wakes_the_cluster_when_it_changes() -> None:
    view = View()
    view.show(SERVICE, service("demo-head-svc", owner="uid-of-somebody"))
    view.objects().find(SERVICE, "demo-head-svc")
    assert view.woken_by(SERVICE, service("demo-head-svc")) == [CLUSTER]


def test_our_own_object_wakes_it_by_its_owner_alone() -> None:
    view = View()
    view.show(SERVICE, service("demo-head-svc", owner=UID))
    view.objects().find(SERVICE, "demo-head-svc")
    assert view.woken_by(SERVICE, service("demo-head-svc", owner=UID)) == []


def test_a_kind_that_is_heard_when_gone_wakes_its_owner_only_then() -> None:
    theirs = when_gone(its_controller("ray.io/v1", "RayCluster"))
    mine, other = service("demo", owner=UID), WholeObject(metadata=replace(metadata("demo", owner=UID), uid="another"))
    assert list(theirs(None, mine)) == []
    assert list(theirs(mine, service("demo", owner=UID, touched=True))) == []
    assert list(theirs(mine, None)) == [CLUSTER]
    assert list(theirs(mine, other)) == [CLUSTER], "it was deleted and made anew while nobody looked"
    assert list(theirs(service("strangers"), None)) == []


def test_constants_16_what_kuberay_watches_is_heard_of_at_every_change() -> None:
    gates = dict.fromkeys(default_gates(), True)
    settings = Settings(gates=gates, openshift_route=True, cert_manager=True)
    volcano = Settings(batch_scheduler="volcano")
    heard = {*kinds_around(settings), *kinds_around(volcano)} - HEARD_WHEN_GONE
    assert heard == {
        SERVICE, SECRET, CLAIM, ISSUER, CERTIFICATE, NETWORK_POLICY, VOLCANO_GROUP, WORKLOAD, WORKLOAD_GROUP, JOB,
    }  # fmt: skip


def test_one_plan_sees_one_state_of_an_object_however_often_it_asks() -> None:
    view = View()
    view.show(SERVICE, service("demo-head-svc", owner=UID, clusterIP="None"))
    objects = view.objects()
    first = objects.find(SERVICE, "demo-head-svc")
    view.show(SERVICE)
    assert objects.find(SERVICE, "demo-head-svc") is first
    assert objects.find(SERVICE, "other") is None
    assert view.objects().find(SERVICE, "demo-head-svc") is None
