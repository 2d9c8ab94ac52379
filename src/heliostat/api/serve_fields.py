"""The fields that Ray Serve reads of its configuration, to find a misspelt one: Serve passes over it in silence.

Only a name that is close to a known one is told of. Another Ray may have other fields.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.kube.nearest import nearest_name
from heliostat.kube.paths import Path

_APPLICATION = frozenset({
    "args", "autoscaling_policy", "deployments", "external_scaler_enabled", "host", "import_path", "logging_config",
    "name", "port", "route_prefix", "runtime_env",
})  # fmt: skip
_DEPLOYMENT = frozenset({
    "autoscaling_config", "backpressure_config", "deployment_actors", "gang_scheduling_config",
    "graceful_shutdown_timeout_s", "graceful_shutdown_wait_loop_s", "health_check_period_s", "health_check_timeout_s",
    "is_driver_deployment", "logging_config", "max_concurrent_queries", "max_ongoing_requests", "max_queued_requests",
    "max_replicas_per_node", "max_surge_percent", "name", "num_replicas", "placement_group_bundle_label_selector",
    "placement_group_bundles", "placement_group_strategy", "ray_actor_options", "request_router_config",
    "rolling_update_percentage", "user_config",
})  # fmt: skip
_ACTOR_OPTIONS = frozenset({
    "accelerator_type", "fallback_strategy", "label_selector", "memory", "num_cpus", "num_gpus", "object_store_memory",
    "resources", "runtime_env",
})  # fmt: skip
_AUTOSCALING = frozenset({
    "aggregation_function", "downscale_delay_s", "downscale_smoothing_factor", "downscale_to_zero_delay_s",
    "downscaling_factor", "initial_replicas", "look_back_period_s", "max_replicas", "metrics_interval_s",
    "min_replicas", "policy", "smoothing_factor", "target_num_ongoing_requests_per_replica", "target_ongoing_requests",
    "upscale_delay_s", "upscale_smoothing_factor", "upscaling_factor",
})  # fmt: skip
_WITHIN_DEPLOYMENT: Mapping[str, frozenset[str]] = {
    "ray_actor_options": _ACTOR_OPTIONS,
    "autoscaling_config": _AUTOSCALING,
}


class Misspelt(Struct, frozen=True):
    path: Path  # from the beginning of the configuration
    meant: str


def list_misspelt(config: JsonObject) -> Iterator[Misspelt]:
    for index, application in _maps_of(config.get("applications")):
        at: Path = ("applications", index)
        yield from _compare(application, _APPLICATION, at)
        for position, deployment in _maps_of(application.get("deployments")):
            place: Path = (*at, "deployments", position)
            yield from _compare(deployment, _DEPLOYMENT, place)
            for field, known in _WITHIN_DEPLOYMENT.items():
                options = deployment.get(field)
                if isinstance(options, dict):
                    yield from _compare(options, known, (*place, field))


def _maps_of(items: Any) -> Iterator[tuple[int, JsonObject]]:
    listed = items if isinstance(items, list) else []
    return ((index, item) for index, item in enumerate(listed) if isinstance(item, dict))


def _compare(given: JsonObject, known: frozenset[str], at: Path) -> Iterator[Misspelt]:
    for name in given:
        meant = None if name in known else nearest_name(name, sorted(known - given.keys()))
        if meant is not None:
            yield Misspelt((*at, name), meant)
