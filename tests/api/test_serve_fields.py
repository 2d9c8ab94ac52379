"""A field of serveConfigV2 that Serve does not know is told when a known one is close."""

from typing import Any

import pytest

from heliostat.api import serve_fields
from heliostat.api.serve_fields import list_misspelt
from heliostat.kube.paths import format_path

Tree = dict[str, Any]


def deployment(**fields: Any) -> Tree:
    return {"applications": [{"name": "a", "import_path": "m:a", "deployments": [{"name": "D", **fields}]}]}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (deployment(userconfig={}), "applications[0].deployments[0].userconfig user_config"),
        (deployment(Num_replicas=2), "applications[0].deployments[0].Num_replicas num_replicas"),
        (
            deployment(ray_actor_options={"num_cpu": 1}),
            "applications[0].deployments[0].ray_actor_options.num_cpu num_cpus",
        ),
        (
            deployment(autoscaling_config={"min_replica": 1}),
            "applications[0].deployments[0].autoscaling_config.min_replica min_replicas",
        ),
        ({"applications": [{"import_pth": "m:a"}]}, "applications[0].import_pth import_path"),
    ],
)
def test_a_misspelt_field_is_found_with_the_one_that_was_meant(config: Tree, told: str) -> None:
    (found,) = list_misspelt(config)
    assert f"{format_path(found.path)} {found.meant}" == told


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"applications": None},
        {"applications": [None, 5, {"deployments": 3}]} | {"proxy_location": "EveryNode"},
        deployment(user_config={"num_replica": 3}, num_replicas=1, something_newer=True),
        deployment(ray_actor_options="none", max_concurrent_queries=5),
    ],
)
def test_nothing_is_told_of_what_may_be_right(config: Tree) -> None:
    assert list(list_misspelt(config)) == []


@pytest.mark.slow
def test_every_field_of_this_ray_is_known() -> None:
    schema = pytest.importorskip("ray.serve.schema", reason="needs Ray Serve")
    autoscaling = pytest.importorskip("ray.serve.config", reason="needs Ray Serve").AutoscalingConfig
    for model, known in (
        (schema.ServeApplicationSchema, serve_fields._APPLICATION),
        (schema.DeploymentSchema, serve_fields._DEPLOYMENT),
        (schema.RayActorOptionsSchema, serve_fields._ACTOR_OPTIONS),
        (autoscaling, serve_fields._AUTOSCALING),
    ):
        assert set(model.model_fields) - known == set()
