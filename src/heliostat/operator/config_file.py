"""The file behind ``--config``: ``config.ray.io/v1alpha1``, kind ``Configuration``, in YAML or JSON (operator.md §2).

Rules: a field that is absent or null has its default; a value of the wrong type is a ``UsageError`` that names the
field and what it takes, also inside containers and variables; a field that nobody knows is a warning with the nearest
name. Pure: the tree comes in.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, structs

from heliostat.kube.core_schema import template_definition
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.nearest import nearest_name
from heliostat.kube.problems import Problem
from heliostat.kube.schema import check
from heliostat.operator.usage_error import UsageError

API_VERSION, KIND = "config.ray.io/v1alpha1", "Configuration"


class Configuration(Struct, frozen=True, kw_only=True, rename="camel"):
    """KubeRay's fields with KubeRay's defaults; the ones that it decodes and never uses are marked."""

    api_version: str = API_VERSION
    kind: str = KIND
    metrics_addr: str = ":8080"
    probe_addr: str = ":8082"
    enable_leader_election: bool = True
    leader_election_namespace: str = ""
    reconcile_concurrency: int = 0
    watch_namespace: str = ""
    log_file: str = ""
    log_file_encoder: str = ""  # not used: the flags count
    log_stdout_encoder: str = ""  # not used: the flags count
    batch_scheduler: str = ""
    enable_batch_scheduler: bool = False
    use_kubernetes_proxy: bool = False
    enable_metrics: bool = False
    qps: float = 100
    burst: int = 200
    delete_ray_job_after_job_finishes: bool = False  # not used: the environment variable counts
    head_sidecar_containers: list[JsonObject] = []
    worker_sidecar_containers: list[JsonObject] = []
    default_container_envs: list[JsonObject] = []
    default_pod_annotations: dict[str, str] = {}
    default_pod_labels: dict[str, str] = {}


UNUSED = ("logFileEncoder", "logStdoutEncoder", "deleteRayJobAfterJobFinishes")
_FIELDS = tuple(field.encode_name for field in structs.fields(Configuration))
_EMBEDDED = {  # what the API server would refuse in every Pod
    "headSidecarContainers": "core.v1.Container",
    "workerSidecarContainers": "core.v1.Container",
    "defaultContainerEnvs": "core.v1.EnvVar",
}
_METADATA = "metadata"  # a Configuration may have it, as every object may
_MISMATCH = re.compile(r"Expected `([^`]+)`, got `([^`]+)`(?: - at `\$\.?([^`]*)`)?")
_WORDS = {
    "object": "a map",
    "array": "a list",
    "str": "a text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "null": "nothing",
}


def decode_configuration(tree: Mapping[str, Any]) -> Configuration:
    """Raises UsageError."""
    given = {name: value for name, value in tree.items() if value is not None}
    try:
        configuration = msgspec.convert(given, Configuration)
    except msgspec.ValidationError as error:
        raise UsageError(_explain(error)) from None
    if (configuration.api_version, configuration.kind) != (API_VERSION, KIND):
        found = f"{configuration.kind} of {configuration.api_version}"
        raise UsageError(f"the configuration is a {found}; it must be a {KIND} of {API_VERSION}")
    for problem in _embedded_problems(given):
        if problem.severity == "error":
            raise UsageError(f"the configuration's {problem}; {problem.fix}")
    return configuration


def list_warnings(tree: Mapping[str, Any]) -> list[str]:
    """What was written and does not count."""
    inside = [f"the configuration's {problem}; {problem.fix}" for problem in _embedded_problems(tree)]
    return [*_unknown_fields(tree), *inside, *(_unused(name) for name in UNUSED if tree.get(name) is not None)]


def _embedded_problems(tree: Mapping[str, Any]) -> Iterator[Problem]:
    """Errors, and warnings about what nobody knows there."""
    for field, definition in _EMBEDDED.items():
        schema = {"type": "array", "items": {"$ref": definition}}
        yield from check(tree.get(field) or [], schema, (field,), template_definition)


def _unknown_fields(tree: Mapping[str, Any]) -> list[str]:
    unknown = [name for name in tree if name not in _FIELDS and name != _METADATA]
    hints = {name: nearest_name(name, _FIELDS) for name in unknown}
    return [
        f"the configuration's {name} is not known and does not count" + (f"; did you mean {hint}?" if hint else "")
        for name, hint in hints.items()
    ]


def _unused(name: str) -> str:
    instead = {
        "logFileEncoder": "the flag --log-file-encoder",
        "logStdoutEncoder": "the flag --log-stdout-encoder",
        "deleteRayJobAfterJobFinishes": "the environment variable DELETE_RAYJOB_CR_AFTER_JOB_FINISHES",
    }
    return f"the configuration's {name} does not count, as in KubeRay; use {instead[name]}"


def _explain(error: msgspec.ValidationError) -> str:
    found = _MISMATCH.match(str(error))
    if found is None:
        return f"the configuration cannot be used: {error}"
    expected, got, place = found.groups()
    names = [_WORDS.get(part.strip(), part.strip()) for part in expected.split("|")]
    return f"the configuration's {place} must be {' or '.join(names)}, got {_WORDS.get(got, got)}"
