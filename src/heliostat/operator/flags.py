"""KubeRay's command line and environment, and what they and the configuration file say about objects (§1–§4).

Pure: the arguments, the environment and the file's content come in, a value or a ``UsageError`` comes out. Flags
follow Go's syntax: ``-x``, ``--x``, ``--x=v`` and ``--x v``; a boolean takes its value only behind ``=``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct, structs

from heliostat.api.settings import BATCH_SCHEDULERS, GATES, Settings, default_gates
from heliostat.kube.counts import read_whole
from heliostat.kube.nearest import nearest_name
from heliostat.operator.config_file import Configuration, decode_configuration
from heliostat.operator.usage_error import UsageError

__all__ = [
    "FLAG_HELP",
    "SWITCHES",
    "OperatorFlags",
    "UsageError",
    "build_settings",
    "parse_feature_gates",
    "parse_flags",
    "parse_go_flags",
]


class OperatorFlags(Struct, frozen=True, kw_only=True):
    """KubeRay's flags with KubeRay's defaults."""

    metrics_addr: str = ":8080"
    health_probe_bind_address: str = ":8082"
    enable_leader_election: bool = True
    leader_election_namespace: str = ""
    reconcile_concurrency: int = 0  # as many as use the machine; KubeRay's default is 1
    watch_namespace: str = ""
    forced_cluster_upgrade: bool = False
    log_file_path: str = ""
    log_file_encoder: str = "json"
    log_stdout_encoder: str = ""  # json, but text on a terminal
    enable_batch_scheduler: bool = False
    batch_scheduler: str = ""
    config: str = ""
    use_kubernetes_proxy: bool = False
    feature_gates: str = ""
    enable_metrics: bool = False
    qps: float = 100
    burst: int = 200
    kubeconfig: str = ""
    zap_devel: bool = False
    zap_encoder: str = ""
    zap_log_level: str = ""
    zap_stacktrace_level: str = ""
    zap_time_encoding: str = ""


F = TypeVar("F", bound=Struct)

FLAG_HELP = {
    "batch-scheduler": f"one of {', '.join(BATCH_SCHEDULERS)}",
    "enable-batch-scheduler": "deprecated, the same as --batch-scheduler=volcano",
    "feature-gates": "Name=true,Other=false",
    "config": "a configuration file (config.ray.io/v1alpha1)",
}

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


def parse_flags(arguments: Sequence[str]) -> tuple[OperatorFlags, list[str]]:
    """The operator's flags out of the arguments, and the arguments that are not the operator's."""
    return parse_go_flags(arguments, OperatorFlags)


def parse_go_flags(arguments: Sequence[str], kind: type[F]) -> tuple[F, list[str]]:
    """The same for the flags that the fields of ``kind`` stand for."""
    fields = {field.name.replace("_", "-"): field for field in structs.fields(kind)}
    values: dict[str, Any] = {}
    others: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            others += [argument, *rest]
            break
        name, separator, text = argument.lstrip("-").partition("=")
        field = fields.get(name) if argument.startswith("-") else None
        if field is None:
            others.append(argument)
            continue
        if not separator and field.type is not bool:
            if not rest:
                raise UsageError(f"the flag --{name} needs a value, as in --{name}=VALUE")
            text = rest.pop(0)
        values[field.name] = _parse_value(name, field.type, text if separator or field.type is not bool else "true")
    return kind(**values), others


def _parse_value(name: str, kind: Any, text: str) -> Any:
    if kind is bool:
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        raise UsageError(f"the flag --{name} takes true or false, got {text!r}")
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"the flag --{name} takes a number, got {text!r}") from None


def parse_feature_gates(text: str) -> dict[str, bool]:
    """A gate that is named has what was said of it; AllAlpha and AllBeta are for the others, wherever they stand."""
    stages: dict[str, bool] = {}
    named: dict[str, bool] = {}
    for entry in filter(None, text.split(",")):
        name, separator, value = (part.strip() for part in entry.partition("="))
        if not separator or value not in _TRUE + _FALSE:
            raise UsageError(f"the feature gate {entry!r} must read {name}=true or {name}=false")
        if name in ("AllAlpha", "AllBeta"):
            stages[name.removeprefix("All")] = value in _TRUE
        elif name in GATES:
            named[name] = value in _TRUE
        else:
            known = nearest_name(name, GATES)
            hint = f"did you mean {known}?" if known else f"known are {', '.join(GATES)}"
            raise UsageError(f"unknown feature gate {name!r}; {hint}")
    by_stage = {gate: stages[stage] for gate, (_default, stage) in GATES.items() if stage in stages}
    return default_gates() | by_stage | named


def build_settings(
    flags: OperatorFlags, environment: Mapping[str, str], config: Mapping[str, Any] | None = None
) -> Settings:
    """``config`` is the content of the file that ``--config`` names; it replaces the flags it has fields for."""
    gates = parse_feature_gates(flags.feature_gates)
    scheduler, legacy = flags.batch_scheduler, flags.enable_batch_scheduler
    changes: dict[str, Any] = {}
    if config is not None:
        read = decode_configuration(config)
        scheduler, legacy = read.batch_scheduler, read.enable_batch_scheduler
        changes = _config_changes(read)
    changes["batch_scheduler"] = _choose_scheduler(scheduler, legacy=legacy, gates=gates)
    return Settings(gates=gates, **_environment_changes(environment), **changes)


def _choose_scheduler(name: str, *, legacy: bool, gates: dict[str, bool]) -> str:
    if name and legacy:
        raise UsageError("give either --batch-scheduler or the deprecated --enable-batch-scheduler, not both")
    if (name or legacy) and gates["KubernetesWAS"]:
        raise UsageError("the feature gate KubernetesWAS cannot be combined with a batch scheduler")
    if name and name not in BATCH_SCHEDULERS:
        known = nearest_name(name, BATCH_SCHEDULERS)
        hint = f"did you mean {known}?" if known else f"supported are {', '.join(BATCH_SCHEDULERS)}"
        raise UsageError(f"unsupported batch scheduler {name!r}; {hint}")
    return "volcano" if legacy else name


def _config_changes(config: Configuration) -> dict[str, Any]:
    return {
        "head_sidecar_containers": tuple(config.head_sidecar_containers),
        "worker_sidecar_containers": tuple(config.worker_sidecar_containers),
        "default_container_envs": tuple(config.default_container_envs),
        "default_pod_annotations": config.default_pod_annotations,
        "default_pod_labels": config.default_pod_labels,
    }


def _on_unless_false(text: str) -> bool:
    return text.lower() != "false"


def _on_if_true(text: str) -> bool:
    return text.lower() == "true"


SWITCHES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "ENABLE_INIT_CONTAINER_INJECTION": ("inject_init_container", _on_unless_false),
    "ENABLE_PROBES_INJECTION": ("inject_probes", _on_unless_false),
    "ENABLE_GCS_FT_REDIS_CLEANUP": ("redis_cleanup", _on_unless_false),
    "ENABLE_ZERO_DOWNTIME": ("zero_downtime", _on_unless_false),
    "ENABLE_RANDOM_POD_DELETE": ("random_pod_delete", _on_if_true),
    "ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE": ("head_cluster_ip_service", _on_if_true),
    "ENABLE_LOGIN_SHELL": ("login_shell", _on_if_true),
    "ENABLE_DETERMINISTIC_HEAD_POD_NAME": ("deterministic_head_name", _on_if_true),
    "DELETE_RAYJOB_CR_AFTER_JOB_FINISHES": ("delete_rayjob_after_finish", _on_if_true),
}


def _environment_changes(environment: Mapping[str, str]) -> dict[str, Any]:
    changes: dict[str, Any] = {
        field: reads(environment[name]) for name, (field, reads) in SWITCHES.items() if name in environment
    }
    if environment.get("CLUSTER_DOMAIN"):
        changes["cluster_domain"] = environment["CLUSTER_DOMAIN"]
    changes["requeue_seconds"] = _seconds(environment, "RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV")
    changes["rayjob_transition_grace_seconds"] = _seconds(
        environment, "RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS"
    )
    timeout = _seconds(environment, "RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS")
    changes["rayjob_status_check_timeout_seconds"] = timeout if timeout > 0 else 300
    changes["rayjob_pre_running_seconds"] = max(0, _seconds(environment, "RAYJOB_PRE_RUNNING_TIMEOUT_SECONDS", 0))
    return changes


def _seconds(environment: Mapping[str, str], name: str, default: int = 300) -> int:
    seconds = read_whole(environment.get(name, ""))
    return default if seconds is None else seconds
