"""One sentence for each flag and variable of ``heliostat operator``, and the page that ``--help`` prints."""

import shutil
import textwrap
from collections.abc import Iterator

from msgspec import structs

from heliostat.api.settings import BATCH_SCHEDULERS
from heliostat.operator.configuration import ProcessFlags
from heliostat.operator.flags import OperatorFlags
from heliostat.operator.options import WORKERS

FLAG_SENTENCES: dict[str, str] = {
    "metrics-addr": "where /metrics is served; 0 serves none",
    "health-probe-bind-address": "where /healthz, /livez and /readyz are served; 0 serves none",
    "enable-leader-election": "work only while holding a Lease, so that several may run",
    "leader-election-namespace": "the Lease's namespace (the Pod's own, or the kubeconfig context's)",
    "reconcile-concurrency": f"how many objects of a kind are reconciled at a time; 0 means {WORKERS}",
    "watch-namespace": "watch only these namespaces, separated by commas (all)",
    "forced-cluster-upgrade": "deprecated, has no effect",
    "log-file-path": "write the logs to this file as well",
    "log-file-encoder": "json or console",
    "log-stdout-encoder": "json or console (json, but console on a terminal)",
    "enable-batch-scheduler": "deprecated, the same as --batch-scheduler=volcano",
    "batch-scheduler": f"one of {', '.join(BATCH_SCHEDULERS)}",
    "config": "a configuration file (config.ray.io/v1alpha1) in the place of the flags that it has fields for",
    "ray-gateway": "one host:port that stands for the dashboards of all clusters, for tests with a scripted Ray",
    "use-kubernetes-proxy": "talk to Ray through the API server's proxy",
    "feature-gates": "Name=true,Other=false",
    "enable-metrics": "also expose KubeRay's own metrics (kuberay_*)",
    "qps": "at most so many requests a second; at 100 with a burst of 200 as many as the API server keeps up with",
    "burst": "with --qps: so many at once",
    "kubeconfig": "how to reach the API server (KUBECONFIG, the cluster that this runs in, or ~/.kube/config)",
    "zap-devel": "log from level debug on",
    "zap-encoder": "accepted, has no effect",
    "zap-log-level": "debug, info, warn, error or a number (info)",
    "zap-stacktrace-level": "accepted, has no effect",
    "zap-time-encoding": "accepted, has no effect",
    "context": "the context of the kubeconfig (its current one)",
    "lease-seconds": "how long a lease is valid",
    "renew-seconds": "how long a holder tries to renew it before it stops working",
    "retry-seconds": "how often it is renewed, or looked at by the others",
    "request-seconds": "the deadline of every request; shorter than lease minus renew",
    "log-format": "auto, json or text; counts before --log-stdout-encoder",
    "turn-file": "leader election among processes of this machine by a lock on this file, which holds the leader's pid;"
    " the others stand by, and when it ends, even by kill -9, one of them takes over at once;"
    " with --enable-leader-election=false after one request deadline",
    "ready-probe-seconds": "initial delay and period of the readiness probe that Ray containers without one get;"
    " 0 means KubeRay's 10 and 5 s; local mode has 1",
}
HIDDEN = ("watch-seconds",)

VARIABLE_SENTENCES: dict[str, str] = {  # beside the switches, which `flags` reads
    "CLUSTER_DOMAIN": "the DNS suffix of generated names (cluster.local)",
    "RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV": "how often a RayCluster is looked at without any change (300)",
    "RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS": "how long a dashboard may not answer (300)",
    "RAYJOB_PRE_RUNNING_TIMEOUT_SECONDS": "preRunningDeadlineSeconds of RayJobs that set none (0: they have none)",
    "RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS": "how long the submitter may lag behind its job (300)",
    "USE_INGRESS_ON_OPENSHIFT": "true: an Ingress in the place of a Route on OpenShift",
    "ENABLE_WEBHOOKS": "accepted, has no effect: no webhooks are served; delete KubeRay's webhook configuration",
}

_INDENT = " " * 8
_USAGE = "usage: heliostat operator [--FLAG=VALUE ...]"
_ABOUT = (
    "Run the operator for ray.io objects against any Kubernetes, until SIGINT or SIGTERM. It takes KubeRay's flags,"
    " environment variables, feature gates and configuration file, in Go's syntax: -x, --x, --x=VALUE and --x VALUE; a"
    " boolean takes its value only behind =. While something is missing it waits, and /readyz says for what. The exit"
    " code is 1 when leadership is lost or something is broken, and it should then be started again."
)


def render_help() -> str:
    """As wide as the terminal, less two, as the help of the other commands is."""
    width = shutil.get_terminal_size().columns - 2
    own = [field.name for field in structs.fields(ProcessFlags)][len(structs.fields(OperatorFlags)) :]
    return "\n".join(
        (
            _USAGE,
            "",
            *textwrap.wrap(_ABOUT, width, break_on_hyphens=False),
            "",
            "KubeRay's flags:",
            *_describe((field.name for field in structs.fields(OperatorFlags)), width),
            "",
            "Heliostat's own:",
            *_describe(iter(own), width),
        )
    )


def _describe(fields: Iterator[str], width: int) -> Iterator[str]:
    usual = ProcessFlags()
    for field in fields:
        name = field.replace("_", "-")
        if name in HIDDEN:
            continue
        yield f"  --{name}{_default(getattr(usual, field))}"
        yield from textwrap.wrap(
            FLAG_SENTENCES[name], width, initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False
        )


def _default(value: object) -> str:
    if isinstance(value, bool):
        return f"={str(value).lower()}"
    if isinstance(value, float | int):
        return f"={value:g}"
    return f"={value}" if value else ""
