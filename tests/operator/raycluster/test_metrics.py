"""KubeRay's metrics of RayClusters follow the cache: what is there has its series, what is gone has none."""

import threading
from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.operator.kinds import RAY_CLUSTERS, WholeObject
from heliostat.operator.raycluster.metrics import ClusterMetrics
from heliostat.runtime.cache import Cache, CacheWriter
from heliostat.runtime.metrics import Registry
from runtime.exposition import parse, samples

CREATED = "2026-01-31T12:00:00Z"
PROVISIONED = {"type": "RayClusterProvisioned", "status": "True", "lastTransitionTime": "2026-01-31T12:00:42Z"}
PENDING = {"type": "RayClusterProvisioned", "status": "False", "lastTransitionTime": "2026-01-31T12:00:01Z"}
HEAD_READY = {"type": "HeadPodReady", "status": "True", "lastTransitionTime": "2026-01-31T12:00:20Z"}


class World:
    """A cache that the test writes to, and the metrics that listen to it."""

    def __init__(self) -> None:
        self.cache = Cache(RAY_CLUSTERS)
        self.writer = CacheWriter(self.cache)
        self.registry = Registry()
        self._version = 0
        ClusterMetrics(self.registry, [self.cache])

    def build(
        self,
        *conditions: Mapping[str, object],
        name: str = "demo",
        uid: str = "u1",
        labels: Mapping[str, str] | None = None,
        created: str = CREATED,
        managed_by: str | None = None,
    ) -> WholeObject:
        self._version += 1
        tree = {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": uid,
                "resourceVersion": str(self._version),
                "creationTimestamp": created,
                "labels": dict(labels or {}),
            },
            "spec": {"managedBy": managed_by} if managed_by is not None else {},
            "status": {"conditions": list(conditions)},
        }
        return msgspec.json.decode(msgspec.json.encode(tree), type=WholeObject)

    def put(self, *conditions: Mapping[str, object], **given: str) -> None:
        self.writer.put(self.build(*conditions, **given))  # type: ignore[arg-type]

    def told(self) -> dict[str, float]:
        text = self.registry.render()
        parse(text)
        return samples(text)

    def duration(self) -> float | None:
        return self.told().get('kuberay_cluster_provisioned_duration_seconds{name="demo",namespace="default",uid="u1"}')


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        ({}, "None"),
        ({"ray.io/originated-from-crd": "RayJob"}, "RayJob"),
        ({"ray.io/originated-from-crd": "RayService", "ray.io/originated-from-cr-name": "a"}, "RayService"),
    ],
)
def test_every_cluster_has_an_info_with_the_kind_it_comes_from(labels: dict[str, str], owner: str) -> None:
    world = World()
    world.writer.put(world.build(labels=labels))
    assert world.told() == {
        f'kuberay_cluster_info{{name="demo",namespace="default",uid="u1",owner_kind="{owner}"}}': 1,
        'kuberay_cluster_condition_provisioned{name="demo",namespace="default",uid="u1",condition="false"}': 1,
    }


def test_the_condition_is_a_label_that_changes_with_it() -> None:
    world = World()
    series = 'kuberay_cluster_condition_provisioned{name="demo",namespace="default",uid="u1",condition="%s"}'
    for condition, shown, hidden in ((PENDING, "false", "true"), (PROVISIONED, "true", "false")):
        world.put(HEAD_READY, condition)
        assert world.told()[series % shown] == 1
        assert series % hidden not in world.told()


def test_the_duration_is_told_when_the_condition_turns_true_and_stays() -> None:
    world = World()
    world.put()
    world.put(PENDING)
    assert world.duration() is None
    world.put(HEAD_READY, PROVISIONED)
    assert world.duration() == 42.0
    world.put(PROVISIONED, HEAD_READY)
    assert world.duration() == 42.0
    world.put(PENDING)  # suspended
    assert world.duration() == 42.0
    world.put({**PROVISIONED, "lastTransitionTime": "2026-01-31T13:00:00Z"})
    assert world.duration() == 3600.0


def test_nothing_flips_for_a_process_that_has_just_started() -> None:
    world = World()
    world.writer.replace([world.build(PROVISIONED)], 10)
    assert world.duration() is None
    world.writer.replace([world.build(PROVISIONED), world.build(PENDING, name="other", uid="u2")], 20)
    assert world.duration() is None
    assert len(world.told()) == 4


def test_a_flip_that_only_a_list_showed_has_its_own_time() -> None:
    world = World()
    world.put(PENDING)
    world.writer.replace([world.build(PROVISIONED)], 1000)
    assert world.duration() == 42.0


def test_a_cluster_that_is_gone_leaves_nothing_behind() -> None:
    world = World()
    world.put(PENDING)
    world.put(PROVISIONED)
    assert len(world.told()) == 3
    world.writer.remove(world.build(PROVISIONED))
    assert world.told() == {}


def test_another_cluster_of_the_same_name_has_no_past() -> None:
    world = World()
    world.put(PENDING)
    world.put(PROVISIONED)
    world.put(PROVISIONED, uid="u2")
    told = world.told()
    assert len(told) == 2
    assert all('uid="u2"' in series for series in told)


def test_somebody_elses_cluster_is_shown_but_not_timed() -> None:
    world = World()
    world.put(PENDING, managed_by="kueue.x-k8s.io/multikueue")
    world.put(PROVISIONED, managed_by="kueue.x-k8s.io/multikueue")
    assert world.duration() is None
    assert len(world.told()) == 2


@pytest.mark.parametrize(
    ("condition", "created", "seconds"),
    [
        ({**PROVISIONED, "lastTransitionTime": "soon"}, CREATED, None),
        ({**PROVISIONED, "lastTransitionTime": ""}, CREATED, None),
        (PROVISIONED, "never", None),
        (PROVISIONED, "2026-01-31T12:00:43Z", 0.0),
        ({**PROVISIONED, "lastTransitionTime": 5}, CREATED, None),
        ({**PROVISIONED, "status": "Unknown"}, CREATED, None),
    ],
)
def test_times_that_make_no_sense_give_no_wrong_number(
    condition: dict[str, object], created: str, seconds: float | None
) -> None:
    world = World()
    world.put(PENDING, created=created)
    world.put(condition, created=created)
    assert world.duration() == seconds


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["put", "ready", "remove", "recreate"]))))
def test_the_series_are_always_those_of_the_clusters_in_the_cache(steps: list[tuple[str, str]]) -> None:
    world = World()
    uids = dict.fromkeys("abc", 0)
    for name, step in steps:
        uids[name] += step == "recreate"
        condition = PROVISIONED if step == "ready" else PENDING
        cluster = world.build(condition, name=name, uid=f"{name}{uids[name]}")
        if step == "remove":
            world.writer.remove(cluster)
        else:
            world.writer.put(cluster)
    there = {(item.metadata.name, item.metadata.namespace, item.metadata.uid) for item in world.cache}
    families = parse(world.registry.render())
    for family in families.values():
        shown = [tuple(value for _, value in sample.labels[:3]) for sample in family.samples]
        assert set(shown) <= there
        assert len(shown) == len(set(shown))
    assert len(families["kuberay_cluster_info"].samples) == len(there)
    assert len(families["kuberay_cluster_condition_provisioned"].samples) == len(there)


def test_scrapes_by_another_thread_see_whole_clusters() -> None:
    world = World()
    clusters = [world.build(PENDING, name=f"c{number}", uid=f"u{number}") for number in range(200)]
    is_over = threading.Event()
    problems: list[BaseException] = []

    def scrape() -> None:
        try:
            while not is_over.is_set():
                families = parse(world.registry.render())
                assert len(families["kuberay_cluster_info"].samples) <= len(clusters)
        except BaseException as problem:  # noqa: BLE001  told by the main thread
            problems.append(problem)

    thread = threading.Thread(target=scrape)
    thread.start()
    for _ in range(20):
        for cluster in clusters:
            world.writer.put(cluster)
        for cluster in clusters:
            world.writer.remove(cluster)
    is_over.set()
    thread.join()
    assert problems == []
    assert world.told() == {}


def test_a_cache_for_each_namespace_is_one_metric() -> None:
    caches = [Cache(msgspec.structs.replace(RAY_CLUSTERS, namespace=name)) for name in ("a", "b")]
    registry = Registry()
    ClusterMetrics(registry, caches)
    for cache in caches:
        CacheWriter(cache).put(World().build(name=cache.kind.namespace))
    assert len(parse(registry.render())["kuberay_cluster_info"].samples) == 2
