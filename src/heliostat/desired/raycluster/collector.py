"""The history collector sidecar (raycluster.md §7.8, constants.md §6.6)."""

from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.desired.auth import authenticate
from heliostat.desired.containers import append_env_if_absent, env, field_env
from heliostat.desired.raycluster.context import BuildContext

COLLECTOR_CONTAINER = "ray-history-collector"

_EVENTS_PORT = 8084
_EVENT_TYPES = (
    "TASK_DEFINITION_EVENT,TASK_LIFECYCLE_EVENT,ACTOR_TASK_DEFINITION_EVENT,TASK_PROFILE_EVENT,"
    "DRIVER_JOB_DEFINITION_EVENT,DRIVER_JOB_LIFECYCLE_EVENT,ACTOR_DEFINITION_EVENT,ACTOR_LIFECYCLE_EVENT,"
    "NODE_DEFINITION_EVENT,NODE_LIFECYCLE_EVENT"
)
_AGENT = "RAY_DASHBOARD_AGGREGATOR_AGENT"


def event_export_env() -> tuple[JsonObject, ...]:
    """What makes Ray send its events to a collector in the same Pod."""
    return (
        env("RAY_enable_ray_event", "true"),
        env("RAY_enable_core_worker_ray_event_to_aggregator", "true"),
        env(f"{_AGENT}_EVENTS_EXPORT_ADDR", f"http://localhost:{_EVENTS_PORT}/v1/events"),
        env(f"{_AGENT}_EXPOSABLE_EVENT_TYPES", _EVENT_TYPES),
        env(f"{_AGENT}_PUBLISHER_HTTP_ENDPOINT_EXPOSABLE_EVENT_TYPES", _EVENT_TYPES),
    )


def add_collector(pod_spec: JsonObject, context: BuildContext, node_type: str) -> None:
    if not context.has_collector:
        return
    options = context.spec.history_server_options
    if options is None or options.collector_options is None:
        return
    chosen = options.collector_options
    container: JsonObject = {
        "name": COLLECTOR_CONTAINER,
        "image": chosen.image or "",
        "imagePullPolicy": chosen.image_pull_policy or "IfNotPresent",
        "env": _identity_env(context, node_type),
        "resources": {
            "requests": {"cpu": "50m", "memory": "64Mi"},
            "limits": {"cpu": "200m", "memory": "256Mi"},
        },
    }
    user_env = chosen.env or []
    if node_type == labels.HEAD and not any(item.get("name") == "RAY_DASHBOARD_ADDRESS" for item in user_env):
        append_env_if_absent(container, env("RAY_DASHBOARD_ADDRESS", "http://localhost:8265"))
    container["env"] = [*container["env"], *user_env]
    if chosen.resources is not None:
        container["resources"] = chosen.resources
    authenticate(container, context.spec, context.name)
    pod_spec["containers"].append(container)


def _identity_env(context: BuildContext, node_type: str) -> list[JsonObject]:
    variables = [
        field_env("POD_IP", "status.podIP"),
        env("RAY_CLUSTER_NAME", context.name),
        env("RAY_CLUSTER_NAMESPACE", context.namespace),
        env("RAY_ROLE", "Head" if node_type == labels.HEAD else "Worker"),
        env("EVENTS_PORT", str(_EVENTS_PORT)),
        env("FQ_RAY_IP", context.fqdn),
    ]
    for name, label in (("OWNER_KIND", labels.ORIGIN_KIND), ("OWNER_NAME", labels.ORIGIN_NAME)):
        if context.labels.get(label):
            variables.append(env(name, context.labels[label]))
    return variables
