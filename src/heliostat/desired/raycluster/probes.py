"""Liveness and readiness of the Ray container, where the user set none (constants.md §8).

Asked sooner for readiness when the settings say so: then a container that fails is unready after as long as before.
"""

from heliostat.api.markers import JsonObject
from heliostat.api.ray_version import is_at_least
from heliostat.desired import labels
from heliostat.desired.ports import DASHBOARD_AGENT_PORT, DASHBOARD_PORT, SERVE_PORT, container_port, port_param
from heliostat.desired.raycluster.context import BuildContext

UNIFIED_HEALTH_SINCE = (2, 53, 0)
_PERIOD = 5


def add_probes(container: JsonObject, context: BuildContext, node_type: str, params: dict[str, str]) -> None:
    handler = _node_health(context, node_type, params)
    timeout = 5 if node_type == labels.HEAD else 2
    if container.get("livenessProbe") is None:
        container["livenessProbe"] = {**handler, **_timing(30, timeout, failures=120)}
    if container.get("readinessProbe") is None:
        if context.creator == "RayService" and node_type == labels.WORKER:
            # A worker takes Serve traffic only while its proxy answers.
            handler = _exec(_raylet_check(params), _serve_check(container))
            failures = 1
        else:
            failures = 10
        container["readinessProbe"] = {**handler, **_readiness_timing(context, timeout, failures)}


def _readiness_timing(context: BuildContext, timeout: int, failures: int) -> JsonObject:
    sooner = context.settings.ready_probe_seconds
    if not sooner:
        return _timing(10, timeout, failures=failures)
    # Also where one failure counts: asked five times as often, a busy machine is late for one of them all too soon.
    return _timing(sooner, timeout, failures=max(1, failures * _PERIOD // sooner), period=sooner)


def _timing(initial_delay: int, timeout: int, *, failures: int, period: int = _PERIOD) -> JsonObject:
    return {
        "initialDelaySeconds": initial_delay,
        "timeoutSeconds": timeout,
        "periodSeconds": period,
        "successThreshold": 1,
        "failureThreshold": failures,
    }


def _node_health(context: BuildContext, node_type: str, params: dict[str, str]) -> JsonObject:
    if is_at_least(context.spec.ray_version or "", UNIFIED_HEALTH_SINCE):
        return {"httpGet": {"path": "/api/healthz", "port": _agent_port(params)}}
    if node_type == labels.HEAD:
        return _exec(_raylet_check(params), _gcs_check(params))
    return _exec(_raylet_check(params))


def _exec(*checks: str) -> JsonObject:
    return {"exec": {"command": ["bash", "-c", " && ".join(checks)]}}


def _agent_port(params: dict[str, str]) -> int:
    return port_param(params, "dashboard-agent-listen-port", DASHBOARD_AGENT_PORT)


def _wget(timeout: int, port: int, path: str) -> str:
    return f"wget --tries 1 -T {timeout} -q -O- http://localhost:{port}/{path} | grep success"


def _raylet_check(params: dict[str, str]) -> str:
    return _wget(2, _agent_port(params), "api/local_raylet_healthz")


def _gcs_check(params: dict[str, str]) -> str:
    return _wget(10, port_param(params, "dashboard-port", DASHBOARD_PORT), "api/gcs_healthz")


def _serve_check(container: JsonObject) -> str:
    return _wget(10, container_port(container, "serve", SERVE_PORT), "-/healthz")
