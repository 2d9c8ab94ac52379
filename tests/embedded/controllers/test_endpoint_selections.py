"""Services and Pods find each other as comparing each with each would."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.controllers.endpoints.selections import Selections
from heliostat.embedded.controllers.views.pods import PODS, Pod
from heliostat.embedded.controllers.views.services import SERVICES, Service
from heliostat.kube.objects import Key
from heliostat.runtime.cache import Cache

LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=3)
NAMES = st.sampled_from("pqrs")
NAMESPACES = st.sampled_from(("one", "two"))
CHANGES = st.lists(st.tuples(st.booleans(), NAMESPACES, NAMES, st.none() | LABELS), max_size=30)


class World:
    def __init__(self) -> None:
        self.services: Cache[Service] = Cache(SERVICES)
        self.pods: Cache[Pod] = Cache(PODS)
        self.selections = Selections(self.services, self.pods)

    def put_service(self, namespace: str, name: str, selector: dict[str, str] | None) -> None:
        tree = _tree(namespace, name, {}, spec={"selector": selector})
        self.services.change(Key(namespace, name), msgspec.convert(tree, Service))

    def put_pod(self, namespace: str, name: str, labels: dict[str, str]) -> None:
        self.pods.change(Key(namespace, name), msgspec.convert(_tree(namespace, name, labels), Pod))

    def assert_exact(self) -> None:
        pairs = [(service, pod) for service in self.services for pod in self.pods if _selects(service, pod)]
        for service in self.services:
            found = [pod.metadata.key for pod in self.selections.pods_of(service)]
            assert found == sorted(pod.metadata.key for each, pod in pairs if each is service)
        for pod in self.pods:
            found = sorted(self.selections.services_of(pod))
            assert found == sorted(service.metadata.key for service, each in pairs if each is pod)


def _tree(namespace: str, name: str, labels: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name, "uid": f"{namespace}-{name}", "labels": labels}, **more}


def _selects(service: Service, pod: Pod) -> bool:
    selector = service.spec.selector or {}
    is_same = service.metadata.namespace == pod.metadata.namespace
    return is_same and bool(selector) and selector.items() <= pod.metadata.labels.items()


@given(CHANGES)
def test_after_any_changes_each_finds_exactly_the_others(changes: list[Any]) -> None:
    world = World()
    for is_service, namespace, name, labels in changes:
        if labels is None:
            (world.services if is_service else world.pods).change(Key(namespace, name), None)
        elif is_service:
            world.put_service(namespace, name, labels)
        else:
            world.put_pod(namespace, name, labels)
        world.assert_exact()


def test_a_service_without_a_selector_selects_nothing() -> None:
    world = World()
    world.put_pod("one", "p", {"a": "x"})
    world.put_service("one", "p", None)
    (service,) = world.services
    assert world.selections.pods_of(service) == ()
    world.assert_exact()


def test_what_was_there_before_is_found_too() -> None:
    world = World()
    world.put_pod("one", "p", {"a": "x"})
    world.put_service("one", "q", {"a": "x"})
    late = Selections(world.services, world.pods)
    (pod,) = world.pods
    assert list(late.services_of(pod)) == [Key("one", "q")]
