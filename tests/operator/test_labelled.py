"""Objects found by a label: whoever asked hears of them, and what cannot be read is unknown."""

from heliostat.kube.facts import Unknown
from heliostat.kube.objects import Key, Metadata
from heliostat.operator.kinds import RAY_PODS, RayPod
from heliostat.operator.labelled import Labelled, label_ray_pods
from heliostat.operator.view import Interests
from heliostat.runtime.cache import CacheWriter, Unreadable
from heliostat.runtime.caches import Caches

DEMO, ASKING = Key("default", "demo"), Key("default", "job")


def pod(name: str, cluster: str = "demo") -> RayPod:
    labels = {"ray.io/cluster": cluster}
    return RayPod(Metadata(name=name, namespace="default", uid=name, resource_version="4", labels=labels))


def labelled_with(*pods: RayPod) -> tuple[Labelled[RayPod], CacheWriter[RayPod]]:
    caches = Caches()
    labelled, writer = label_ray_pods(caches, ()), CacheWriter(caches.of(RAY_PODS))
    writer.replace(pods, 5)
    return labelled, writer


def names(found: tuple[RayPod, ...] | Unknown) -> list[str]:
    assert not isinstance(found, Unknown)
    return [each.metadata.name for each in found]


def test_only_those_of_the_name() -> None:
    labelled, _writer = labelled_with(pod("head"), pod("other", "another"))
    assert names(labelled.of(DEMO)) == ["head"]
    assert names(labelled.of(Key("elsewhere", "demo"))) == []


def test_before_the_first_list_nothing_is_known() -> None:
    assert isinstance(label_ray_pods(Caches(), ()).of(DEMO), Unknown)


def test_one_that_cannot_be_read_makes_the_answer_unknown_for_its_owner_alone() -> None:
    labelled, writer = labelled_with(pod("other", "another"))
    writer.mark(Unreadable(pod("head").metadata, "its restartCount is a text"))
    found = labelled.of(DEMO)
    assert isinstance(found, Unknown)
    assert "Pod head cannot be read" in found.why
    assert names(labelled.of(Key("default", "another"))) == ["other"]


def test_who_asked_hears_of_a_change_and_of_a_label_that_moves() -> None:
    labelled, _writer = labelled_with()
    interests = Interests()
    labelled.asked(interests, ASKING, DEMO)
    (source,) = labelled.sources(interests)
    assert list(source.keys_of(None, pod("head"))) == [ASKING]
    assert list(source.keys_of(pod("head"), pod("head", "another"))) == [ASKING]
    assert list(source.keys_of(None, pod("head", "another"))) == []


def test_reconcilers_share_one_index() -> None:
    caches = Caches()
    label_ray_pods(caches, ())
    before = len(caches.of(RAY_PODS).tables())
    label_ray_pods(caches, ())
    assert len(caches.of(RAY_PODS).tables()) == before
