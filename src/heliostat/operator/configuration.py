"""Everything the operator's process was told, as one value: flags, environment and the file behind ``--config``.

Rules: with a file the flags that it has fields for do not count; feature gates, log settings and Heliostat's own flags
always do. Whatever cannot be meant is a ``UsageError``; whatever does not count is a warning. Pure: nothing is opened,
and where the process runs is not known yet.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from heliostat.api.settings import Settings
from heliostat.kube.names import dns1123_label_problems
from heliostat.kube.nearest import nearest_name
from heliostat.operator.config_file import Configuration, decode_configuration, list_warnings
from heliostat.operator.flags import OperatorFlags, build_settings, parse_go_flags
from heliostat.operator.listen_address import ListenAddress, parse_address
from heliostat.operator.options import WORKERS
from heliostat.operator.usage_error import UsageError

LEASE_NAME = "ray-operator-leader"
ENCODERS = {"json": "json", "console": "text"}  # KubeRay's name to ours
FORMATS = ("", "auto", "json", "text")
LONGEST_PROBE_SECONDS = 10  # KubeRay's delay: this is for those who want less


class ProcessFlags(OperatorFlags, frozen=True, kw_only=True):
    """KubeRay's flags, and those that only Heliostat has."""

    context: str = ""
    lease_seconds: float = 15.0
    renew_seconds: float = 10.0
    retry_seconds: float = 2.0
    request_seconds: float = 4.0
    log_format: str = ""
    watch_seconds: float = 45.0  # shorter in tests
    turn_file: str = ""
    ready_probe_seconds: int = 0
    ray_gateway: str = ""


class LogOptions(Struct, frozen=True, kw_only=True):
    level: str
    format: str  # auto, json or text
    file: str  # empty: none
    file_format: str


class LeaseTimes(Struct, frozen=True, kw_only=True):
    """Seconds."""

    lease: float
    renew: float
    retry: float


class OperatorProcess(Struct, frozen=True, kw_only=True):
    metrics_at: ListenAddress | None  # None: not served
    probes_at: ListenAddress | None
    has_election: bool
    lease_namespace: str  # empty: the one that the connection stands for
    lease_times: LeaseTimes
    request_seconds: float
    watch_seconds: float
    turn_file: str  # empty: none
    namespaces: tuple[str, ...]  # empty: all of them
    concurrency: int
    qps: float | None  # None: no limit but the server's own
    burst: int
    uses_proxy: bool  # talks to Ray through the API server
    ray_gateway: str  # host:port that stands for every dashboard; empty: each has its own address
    has_kuberay_metrics: bool
    use_ingress_on_openshift: bool
    settings: Settings
    log: LogOptions
    kubeconfig: str
    context: str
    warnings: tuple[str, ...]


_FROM_FILE = {  # flag field to field of the file
    "metrics_addr": "metrics_addr",
    "health_probe_bind_address": "probe_addr",
    "enable_leader_election": "enable_leader_election",
    "leader_election_namespace": "leader_election_namespace",
    "reconcile_concurrency": "reconcile_concurrency",
    "watch_namespace": "watch_namespace",
    "log_file_path": "log_file",
    "batch_scheduler": "batch_scheduler",
    "enable_batch_scheduler": "enable_batch_scheduler",
    "use_kubernetes_proxy": "use_kubernetes_proxy",
    "enable_metrics": "enable_metrics",
    "qps": "qps",
    "burst": "burst",
}


def parse_process_flags(arguments: Sequence[str]) -> ProcessFlags:
    """Raises UsageError, also for whatever is not a flag of the operator."""
    flags, others = parse_go_flags(arguments, ProcessFlags)
    if others:
        raise UsageError(_explain_unknown(others[0]))
    return flags


def build_process(
    flags: ProcessFlags, environment: Mapping[str, str], config: Mapping[str, Any] | None = None
) -> OperatorProcess:
    """``config`` is the content of the file that ``--config`` names. Raises UsageError."""
    settings = build_settings(flags, environment, config)
    warnings = [*_list_deprecated(flags), *_list_environment(environment)]
    if config is not None:
        warnings += [*list_warnings(config), *_list_overruled(flags)]
        flags = _apply_file(flags, decode_configuration(config))
    return OperatorProcess(
        metrics_at=parse_address(flags.metrics_addr, "--metrics-addr"),
        probes_at=parse_address(flags.health_probe_bind_address, "--health-probe-bind-address"),
        has_election=flags.enable_leader_election,
        lease_namespace=flags.leader_election_namespace.strip(),
        lease_times=LeaseTimes(lease=flags.lease_seconds, renew=flags.renew_seconds, retry=flags.retry_seconds),
        request_seconds=_positive("request-seconds", flags.request_seconds),
        watch_seconds=_positive("watch-seconds", flags.watch_seconds),
        turn_file=flags.turn_file,
        namespaces=parse_namespaces(flags.watch_namespace),
        concurrency=_concurrency(flags.reconcile_concurrency),
        qps=_qps(flags),
        burst=flags.burst,
        uses_proxy=flags.use_kubernetes_proxy,
        ray_gateway=flags.ray_gateway.strip(),
        has_kuberay_metrics=flags.enable_metrics,
        use_ingress_on_openshift=environment.get("USE_INGRESS_ON_OPENSHIFT", "").lower() == "true",
        settings=structs.replace(settings, ready_probe_seconds=_probe_seconds(flags.ready_probe_seconds)),
        log=_build_log_options(flags),
        kubeconfig=flags.kubeconfig,
        context=flags.context,
        warnings=tuple(warnings),
    )


def parse_namespaces(text: str) -> tuple[str, ...]:
    """A comma list. Differs from KubeRay: watch-namespace-blanks."""
    names = tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
    for name in names:
        for problem in dns1123_label_problems(name):
            raise UsageError(f"--watch-namespace: {name!r} is not a namespace: {problem}")
    return names


def _explain_unknown(argument: str) -> str:
    if not argument.startswith("-"):
        return f"{argument!r} belongs to no flag; a boolean takes its value behind =, as in --enable-metrics=false"
    name = argument.lstrip("-").partition("=")[0]
    known = nearest_name(name, [field.name.replace("_", "-") for field in structs.fields(ProcessFlags)])
    return f"unknown flag --{name}; " + (f"did you mean --{known}?" if known else "--help lists all flags")


def _apply_file(flags: ProcessFlags, config: Configuration) -> ProcessFlags:
    """An address that is empty in the file has its default, as in KubeRay; a flag that is empty means nowhere."""
    told = {flag: getattr(config, field) for flag, field in _FROM_FILE.items()}
    usual = Configuration()
    told["metrics_addr"] = config.metrics_addr or usual.metrics_addr
    told["health_probe_bind_address"] = config.probe_addr or usual.probe_addr
    return structs.replace(flags, **told)


def _list_overruled(flags: ProcessFlags) -> list[str]:
    usual = ProcessFlags()
    given = [name for name in _FROM_FILE if getattr(flags, name) != getattr(usual, name)]
    return [f"the flag --{name.replace('_', '-')} does not count beside --config" for name in given]


def _list_deprecated(flags: ProcessFlags) -> list[str]:
    texts = []
    if flags.forced_cluster_upgrade:
        texts.append("the flag --forced-cluster-upgrade is deprecated and has no effect")
    if flags.enable_batch_scheduler:
        texts.append("the flag --enable-batch-scheduler is deprecated; use --batch-scheduler=volcano")
    return texts


def _list_environment(environment: Mapping[str, str]) -> list[str]:
    if environment.get("ENABLE_WEBHOOKS") != "true":
        return []
    found = "ENABLE_WEBHOOKS has no effect: no webhooks are served, and what they check is checked by the operator"
    fix = "delete KubeRay's ValidatingWebhookConfiguration, or the API server refuses every ray.io object"
    return [f"{found}; {fix}"]


def _qps(flags: ProcessFlags) -> float | None:
    """Differs from KubeRay: qps. Its defaults are in every copied Deployment and nobody's wish; others are one."""
    usual = OperatorFlags()
    if math.isnan(flags.qps):
        raise UsageError(
            "--qps: nan is no number of requests; leave it out for as many as the API server keeps up with"
        )
    if flags.qps <= 0 or (flags.qps, flags.burst) == (usual.qps, usual.burst):
        return None
    return flags.qps


def _concurrency(number: int) -> int:
    """Differs from KubeRay: reconcile-concurrency."""
    if number < 0:
        raise UsageError(f"--reconcile-concurrency: {number} is less than 1; leave it out for {WORKERS}")
    return number or WORKERS


def _probe_seconds(number: int) -> int:
    if not 0 <= number <= LONGEST_PROBE_SECONDS:
        raise UsageError(
            f"--ready-probe-seconds: {number} is not between 0, which means KubeRay's own, and {LONGEST_PROBE_SECONDS}"
        )
    return number


def _positive(name: str, seconds: float) -> float:
    if not 0 < seconds < float("inf"):
        raise UsageError(f"--{name}: {seconds:g} s is no deadline; give more than 0")
    return seconds


def _build_log_options(flags: ProcessFlags) -> LogOptions:
    if flags.log_format not in FORMATS:
        raise UsageError(f"--log-format: {flags.log_format!r} is not known; use auto, json or text")
    stdout = _encoder("log-stdout-encoder", flags.log_stdout_encoder) if flags.log_stdout_encoder else "auto"
    return LogOptions(
        level=flags.zap_log_level or ("debug" if flags.zap_devel else "info"),
        format=flags.log_format or stdout,
        file=flags.log_file_path,
        file_format=_encoder("log-file-encoder", flags.log_file_encoder),
    )


def _encoder(flag: str, name: str) -> str:
    if name not in ENCODERS:
        raise UsageError(f"--{flag}: {name!r} is not known; use {' or '.join(ENCODERS)}")
    return ENCODERS[name]
