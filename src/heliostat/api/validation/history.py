"""Rules of the history server's collector: V-S37 to V-S44.

Which variables a storage backend needs is a table. A backend the table does not know is accepted.
"""

from collections.abc import Iterator
from itertools import chain

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import CollectorOptions
from heliostat.api.validation.pod_template import containers, env_value, find_named
from heliostat.api.validation.scope import SpecScope, group_path
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem

HISTORY_GATE = "RayClusterHistoryServer"
COLLECTOR_CONTAINER = "ray-history-collector"
RESERVED_ENV = (
    "POD_IP",
    "FQ_RAY_IP",
    "RAY_CLUSTER_NAME",
    "RAY_CLUSTER_NAMESPACE",
    "RAY_ROLE",
    "OWNER_KIND",
    "OWNER_NAME",
    "EVENTS_PORT",
)
BACKEND_ENV = "STORAGE_BACKEND"
NEEDED_BY_BACKEND: dict[str, tuple[str, ...]] = {
    "GCS": ("GCS_BUCKET",),
    "S3": ("S3_REGION",),
    "ALIYUNOSS": ("OSS_BUCKET", "OSS_ENDPOINT", "OSS_REGION"),
}
AZURE_BACKEND, AZURE_MODE_ENV = "AZUREBLOB", "AZURE_STORAGE_AUTH_MODE"
AZURE_CONNECTION, AZURE_ACCOUNT = "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT_URL"
NEEDED_BY_AZURE_MODE: dict[str, str] = {
    "connection_string": AZURE_CONNECTION,
    "workload_identity": AZURE_ACCOUNT,
    "default": AZURE_ACCOUNT,
}
_COLLECTOR: Path = ("historyServerOptions", "collectorOptions")
_ENV: Path = (*_COLLECTOR, "env")


def history_problems(scope: SpecScope) -> Iterator[Problem]:
    options = scope.spec.history_server_options
    if options is None:
        return
    if not scope.settings.gate(HISTORY_GATE):
        yield scope.problem(
            "V-S37",
            ("historyServerOptions",),
            f"{HISTORY_GATE} feature gate is not enabled",
            f"start the operator with --feature-gates={HISTORY_GATE}=true, or remove historyServerOptions",
        )
    if options.collector_options is None:
        yield scope.problem(
            "V-S38",
            _COLLECTOR,
            "historyServerOptions.collectorOptions must be set",
            "set collectorOptions with the collector's image and its storage variables",
        )
    else:
        yield from _collector_problems(scope, options.collector_options)
    yield from _reserved_container_problems(scope)


def _collector_problems(scope: SpecScope, collector: CollectorOptions) -> Iterator[Problem]:
    if not collector.image:
        yield scope.problem(
            "V-S39",
            (*_COLLECTOR, "image"),
            "historyServerOptions.collectorOptions.image must be set",
            f"name the collector's image in {scope.where(*_COLLECTOR, 'image')}",
        )
    for index, variable in chain.from_iterable(find_named(collector.env, name) for name in RESERVED_ENV):
        yield scope.problem(
            "V-S40",
            (*_ENV, index),
            f"historyServerOptions.collectorOptions.env must not contain {variable['name']}: it is managed by"
            " KubeRay and injected automatically into the collector container",
            "remove the variable: the operator sets it",
        )
    backend = (env_value(collector.env, BACKEND_ENV) or "").upper()
    if not backend:
        yield scope.problem(
            "V-S41",
            _ENV,
            f"{BACKEND_ENV} environment variable must be set with a literal string value in"
            " historyServerOptions.collectorOptions.env",
            f"add {BACKEND_ENV} with the value GCS, S3, AZUREBLOB or ALIYUNOSS",
        )
    yield from _missing_variables(scope, collector, backend)


def _missing_variables(scope: SpecScope, collector: CollectorOptions, backend: str) -> Iterator[Problem]:
    for name in NEEDED_BY_BACKEND.get(backend, ()):
        if not _has_variable(collector, name):
            text = f"{name} environment variable must be set when {BACKEND_ENV} is {backend}"
            yield scope.problem("V-S42", _ENV, text, f"add {name} to {scope.where(*_ENV)}")
    if backend == AZURE_BACKEND:
        yield from _azure_problems(scope, collector)


def _azure_problems(scope: SpecScope, collector: CollectorOptions) -> Iterator[Problem]:
    mode = (env_value(collector.env, AZURE_MODE_ENV) or "").strip().lower()
    needed = NEEDED_BY_AZURE_MODE.get(mode)
    choices = (AZURE_CONNECTION, AZURE_ACCOUNT) if needed is None else (needed,)
    if any(_has_variable(collector, name) for name in choices):
        return
    when = f"environment variable must be set when {BACKEND_ENV} is {AZURE_BACKEND}"
    if needed is None:
        text = f"either {AZURE_CONNECTION} or {AZURE_ACCOUNT} {when}"
    else:
        text = f"{needed} {when} and {AZURE_MODE_ENV} is {mode}"
    yield scope.problem("V-S43", _ENV, text, f"add {' or '.join(choices)} to {scope.where(*_ENV)}")


def _has_variable(collector: CollectorOptions, name: str) -> bool:
    return any(item.get("value") or item.get("valueFrom") for _, item in find_named(collector.env, name))


def _reserved_container_problems(scope: SpecScope) -> Iterator[Problem]:
    for owner, path, template in _templates(scope):
        for index, _ in find_named(containers(template), COLLECTOR_CONTAINER):
            yield scope.problem(
                "V-S44",
                (*path, "template", "spec", "containers", index),
                f"{owner} pod template must not define a container with name '{COLLECTOR_CONTAINER}' when history"
                " server collector options are enabled",
                "rename the container: the operator adds the collector under that name",
            )


def _templates(scope: SpecScope) -> Iterator[tuple[str, Path, JsonObject]]:
    yield "head", ("headGroupSpec",), scope.head.template
    for index, group in enumerate(scope.groups):
        yield f"worker group {group.group_name}", group_path(index), group.template
