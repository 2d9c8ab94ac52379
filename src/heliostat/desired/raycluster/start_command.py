"""The ``ray start`` command: completion of rayStartParams and the shell line around it (raycluster.md §7.4).

A parameter counts as given when its key exists, even with an empty value. The exact spacing is part of the contract:
users copy the generated command out of the environment variable and compare it.
"""

from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.desired.ports import DASHBOARD_AGENT_PORT, METRICS_PORT
from heliostat.desired.raycluster.context import BuildContext

_ULIMIT = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}"

# Flags that Ray reads with an explicit true or false; every other boolean is a bare switch.
_EXPLICIT_BOOLEANS = frozenset({"log-color", "include-dashboard", "include-log-monitor"})


def complete_start_params(params: dict[str, str], context: BuildContext, node_type: str) -> None:
    if node_type == labels.HEAD:
        params.setdefault("dashboard-host", "0.0.0.0")  # noqa: S104 - inside the Pod, where the Service must reach it
    else:
        params.setdefault("address", f"{context.fqdn}:{context.gcs_port}")
    params.setdefault("metrics-export-port", str(METRICS_PORT))
    params["block"] = "true"
    params.setdefault("dashboard-agent-listen-port", str(DASHBOARD_AGENT_PORT))


def format_ray_start(node_type: str, params: dict[str, str]) -> str:
    flags = "".join(_format_flag(key, value) for key, value in sorted(params.items()))
    return f"ray start {'--head ' if node_type == labels.HEAD else ''}{flags}"


def _format_flag(key: str, value: str) -> str:
    lowered = value.lower()
    if lowered in ("true", "false") and key not in _EXPLICIT_BOOLEANS:
        return f" --{key} " if lowered == "true" else ""
    return f" --{key}={value} "


def bash_command(context: BuildContext) -> list[str]:
    return ["/bin/bash", "-cl" if context.settings.login_shell else "-c", "--"]


def set_container_command(container: JsonObject, context: BuildContext, ray_start: str, *, overwrite: bool) -> None:
    """Run Ray after the user's own command, unless the user starts Ray or asked to be left alone."""
    user_command = "".join(f" {word} " for word in [*(container.get("command") or []), *(container.get("args") or [])])
    if overwrite or "ray start" in user_command:
        return
    # KubeRay: the shell's precedence means that Ray starts even if the user's command fails (R7-13).
    before = f"{user_command} && " if user_command else ""
    container["command"] = bash_command(context)
    container["args"] = [f"{before}{_ULIMIT}; {ray_start}"]
