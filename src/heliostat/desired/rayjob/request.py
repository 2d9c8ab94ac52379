"""What Ray is asked when the operator submits a RayJob's program itself (rayjob.md §17)."""

import msgspec

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.rayjob import RayJob
from heliostat.desired.names import check_name
from heliostat.desired.slots import Impossible
from heliostat.kube.document_error import DocumentError
from heliostat.kube.yaml_value import read_yaml_value


def build_submission(job: RayJob, job_id: str) -> JsonObject | Impossible:
    """The body of the request; what the spec leaves out is left out, but for the entrypoint."""
    spec = job.spec
    body: JsonObject = {"entrypoint": spec.entrypoint or "", "submission_id": job_id}
    if spec.runtime_env_yaml:
        try:
            body["runtime_env"] = read_yaml_value(spec.runtime_env_yaml, "runtimeEnvYAML")
        except DocumentError as error:
            return Impossible(f"spec.runtimeEnvYAML cannot be read: {error}")
    if spec.entrypoint_resources:
        resources = _read_resources(spec.entrypoint_resources)
        if isinstance(resources, Impossible):
            return resources
        body["entrypoint_resources"] = resources
    body |= {
        "metadata": spec.metadata,
        "entrypoint_num_cpus": spec.entrypoint_num_cpus,
        "entrypoint_num_gpus": spec.entrypoint_num_gpus,
    }
    return {key: value for key, value in body.items() if value or key == "entrypoint"}


def _read_resources(text: str) -> dict[str, float] | Impossible:
    try:
        return msgspec.json.decode(text, type=dict[str, float])
    except msgspec.DecodeError as error:
        return Impossible(
            f'spec.entrypointResources is not a JSON object of names and numbers ({error}); write it like {{"R1": 2}}'
        )


def token_secret(spec: RayClusterSpec, cluster: str) -> str:
    """The Secret with the token that Ray's dashboard asks for; empty when it asks for none."""
    options = spec.auth_options
    if options is None or options.mode != "token" or options.enable_k8s_token_auth:
        return ""
    return options.secret_name or check_name(cluster)
