"""What a stored RayCluster means is worked out once for a spec, and never mixed up with that of another."""

from typing import Any

import msgspec
from msgspec.structs import replace

from heliostat.api.settings import Settings
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.kube.objects import Key, Metadata
from heliostat.operator.kinds import WholeObject
from heliostat.operator.understanding import KEPT, Understanding
from heliostat.plan.raycluster.kind import RAY_CLUSTER
from plan.worlds import cluster_tree, group


def stored(spec: dict[str, Any], name: str = "demo", version: str = "1", **metadata: Any) -> WholeObject:
    return WholeObject(
        metadata=Metadata(name=name, namespace="ns", uid=f"uid-{name}", resource_version=version, **metadata),
        spec=msgspec.Raw(msgspec.json.encode(spec)),
    )


def understanding_of_clusters() -> Understanding[DesiredCluster]:
    return Understanding(RAY_CLUSTER, Settings())


SPEC: dict[str, Any] = cluster_tree(group())["spec"]


def test_the_same_spec_is_worked_out_once_and_shows_the_newest_metadata() -> None:
    understanding = understanding_of_clusters()
    first = understanding.understand(stored(SPEC))
    second = understanding.understand(stored(SPEC, version="2", finalizers=("f",)))
    assert second.desired is first.desired
    assert second.object is not None
    assert second.object.metadata.resource_version == "2"
    assert second.object.metadata.finalizers == ["f"]


def test_another_spec_label_or_annotation_is_worked_out_anew() -> None:
    understanding = understanding_of_clusters()
    first = understanding.understand(stored(SPEC))
    larger = {**SPEC, "workerGroupSpecs": [group(replicas=3)]}
    assert understanding.understand(stored(larger)).desired is not first.desired
    annotated = understanding.understand(stored(larger, annotations={"ray.io/ft-enabled": "true"}))
    assert annotated.desired != understanding.understand(stored(larger)).desired


def test_only_so_many_are_kept() -> None:
    understanding = understanding_of_clusters()
    first = understanding.understand(stored(SPEC, "c0"))
    for number in range(1, KEPT + 1):
        understanding.understand(stored(SPEC, f"c{number}"))
    assert understanding.understand(stored(SPEC, "c0")).desired is not first.desired


def test_another_cluster_under_the_same_name_owns_its_own_objects() -> None:
    understanding = understanding_of_clusters()
    old = stored(SPEC)
    new = replace(old, metadata=replace(old.metadata, uid="uid-of-the-new-one"))
    first = understanding.understand(old)
    assert understanding.understand(new).desired != first.desired


def test_of_one_that_is_gone_nothing_is_kept() -> None:
    understanding = understanding_of_clusters()
    first = understanding.understand(stored(SPEC))
    understanding.forget(Key("ns", "demo"))
    assert understanding.understand(stored(SPEC)).desired is not first.desired


def test_a_refused_spec_has_a_reason_and_nothing_desired() -> None:
    meaning = understanding_of_clusters().understand(
        stored({**SPEC, "headGroupSpec": {"template": {"spec": {"containers": []}}}})
    )
    assert meaning.desired is None
    assert meaning.refusal is not None
    assert meaning.refusal.reason == "InvalidRayClusterSpec"


def test_a_spec_of_the_wrong_shape_is_refused_with_path_and_fix() -> None:
    broken = {**SPEC, "workerGroupSpecs": [{**group(), "replicas": "three"}]}
    meaning = understanding_of_clusters().understand(stored(broken))
    assert meaning.object is None
    assert meaning.refusal is not None
    assert "spec.workerGroupSpecs[0].replicas" in str(meaning.refusal)
    assert meaning.refusal.fix


def test_bytes_that_are_kept_are_no_part_of_the_page_they_came_with() -> None:
    page = b'{"spec":' + msgspec.json.encode(SPEC) + b',"metadata":{"name":"demo"}}' + b" " * 100_000
    item = msgspec.json.decode(page, type=WholeObject)
    assert len(memoryview(item.spec)) < 10_000
    assert item == replace(item, spec=msgspec.Raw(msgspec.json.encode(SPEC)))
