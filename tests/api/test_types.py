"""The structs of the ray.io kinds: the names of their fields, and what their annotations say."""

import msgspec
import pytest

from heliostat.api import v1alpha1
from heliostat.api.kinds import KINDS
from heliostat.api.raycluster import GcsFaultToleranceOptions, RayCluster, RayClusterSpec, WorkerGroupSpec
from heliostat.api.rayjob import DeletionStrategy, RayJobSpec, RayJobStatus
from heliostat.api.rayservice import RayServiceSpec
from heliostat.api.schema_from_types import build_struct_schema, definition


@pytest.mark.parametrize(
    ("struct", "field", "json_name"),
    [
        (RayJobSpec, "runtime_env_yaml", "runtimeEnvYAML"),
        (RayJobStatus, "dashboard_url", "dashboardURL"),
        (RayServiceSpec, "serve_config_v2", "serveConfigV2"),
        (RayServiceSpec, "exclude_head_pod_from_serve_svc", "excludeHeadPodFromServeSvc"),
        (v1alpha1.HeadInfo, "pod_ip", "podIP"),
    ],
)
def test_names_that_camel_case_would_get_wrong(struct: type[msgspec.Struct], field: str, json_name: str) -> None:
    names = dict(zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True))
    assert names[field] == json_name


def test_a_field_with_a_default_of_the_api_server_is_still_absent_in_the_struct() -> None:
    group = msgspec.convert({"groupName": "g", "template": {}}, WorkerGroupSpec)
    assert (group.min_replicas, group.num_of_hosts) == (None, None)


def test_markers_become_keywords() -> None:
    properties = build_struct_schema(WorkerGroupSpec)["properties"]
    assert properties["minReplicas"] == {"type": "integer", "format": "int32", "default": 0}
    assert properties["template"] == {"$ref": "core.v1.PodTemplateSpec"}
    assert properties["rayStartParams"] == {"type": "object", "additionalProperties": {"type": "string"}}


def test_required_are_the_fields_without_a_default_and_the_marked_ones() -> None:
    assert build_struct_schema(WorkerGroupSpec)["required"] == ["groupName", "maxReplicas", "minReplicas", "template"]
    assert "required" not in build_struct_schema(RayJobSpec)


def test_rules_limits_and_list_types_stand_beside_the_type() -> None:
    backend = build_struct_schema(GcsFaultToleranceOptions)["properties"]["backend"]
    assert backend["enum"] == ["redis", "rocksdb"]
    assert [rule["rule"] for rule in backend["x-kubernetes-validations"]] == ["self == oldSelf"]
    rules = build_struct_schema(DeletionStrategy)["properties"]["deletionRules"]
    assert (rules["minItems"], rules["x-kubernetes-list-type"]) == (1, "atomic")


def test_a_struct_refers_to_another_by_a_name_that_can_be_looked_up() -> None:
    reference = build_struct_schema(RayClusterSpec)["properties"]["headGroupSpec"]["$ref"]
    assert definition(reference)["required"] == ["template"]
    assert definition("core.v1.PodTemplateSpec")["type"] == "object"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_newest_version_that_is_not_deprecated(kind: str) -> None:
    newest, *older = KINDS[kind].versions
    assert (newest.name, newest.deprecation) == ("v1", "")
    assert all(version.deprecation for version in older)


def test_plural_and_singular_are_lower_case() -> None:
    assert (KINDS["RayCronJob"].singular, KINDS["RayCronJob"].plural) == ("raycronjob", "raycronjobs")


def test_an_absent_status_is_told_from_an_empty_one() -> None:
    bare = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {},
        "spec": {"headGroupSpec": {"template": {}}},
    }
    assert msgspec.convert(bare, RayCluster).status is msgspec.UNSET
    assert msgspec.convert(bare | {"status": {}}, RayCluster).status is not msgspec.UNSET
