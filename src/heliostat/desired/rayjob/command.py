"""The shell command that waits for Ray's dashboard and submits a RayJob's program (rayjob.md §8.1).

The words and their order are KubeRay's: users find them in the submitter's Pod, and tools look for them there.
"""

import re
import struct

from heliostat.api.rayjob import RayJob
from heliostat.desired.slots import Impossible
from heliostat.kube.counts import read_count
from heliostat.kube.document_error import DocumentError
from heliostat.kube.go_text import go_json, go_quote
from heliostat.kube.yaml_value import read_yaml_value

_METADATA_SINCE = (2, 6, 0)
_STRICT_VERSION = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def build_submit_command(job: RayJob, job_id: str, *, address: str, health: str, resumable: bool) -> str | Impossible:
    """Wait for the dashboard, then submit. A resumable submitter may run again and then only follows the log."""
    options = _submit_options(job, job_id)
    if isinstance(options, Impossible):
        return options
    probe = (
        f"python -c \"import urllib.request; r=urllib.request.urlopen('{health}', timeout=10); "
        "exit(0 if b'success' in r.read() else 1)\""
    )
    waiting = f'echo "Waiting for Ray Dashboard GCS to become healthy at {address} ..."'
    words = [f"until {probe} >/dev/null 2>&1 ; do {waiting} ; sleep 2 ; done ;"]
    if resumable:
        words.append(f"if ! ray job status --address {address} {job_id} >/dev/null 2>&1 ; then")
    words.append(f"ray job submit --address {address}")
    if resumable:
        words.append("--no-wait")
    words += [*options, f"-- {(job.spec.entrypoint or '').strip()} ;"]
    if resumable:
        words.append(f"fi ; ray job logs --address {address} --follow {job_id}")
    return " ".join(words)


def _submit_options(job: RayJob, job_id: str) -> list[str] | Impossible:
    spec = job.spec
    options: list[str] = []
    if spec.runtime_env_yaml:
        try:
            runtime_env = read_yaml_value(spec.runtime_env_yaml, "runtimeEnvYAML")
        except DocumentError as error:
            return Impossible(f"spec.runtimeEnvYAML cannot be read: {error}")
        options.append(f"--runtime-env-json {go_quote(go_json(runtime_env))}")
    if spec.metadata:
        if not _supports_metadata(spec.ray_cluster_spec.ray_version if spec.ray_cluster_spec else None):
            return Impossible("spec.metadata needs Ray 2.6.0 or later; set spec.rayClusterSpec.rayVersion accordingly")
        options.append(f"--metadata-json {go_quote(go_json(spec.metadata))}")
    if job_id:
        options.append(f"--submission-id {job_id}")
    for flag, number in (("num-cpus", spec.entrypoint_num_cpus), ("num-gpus", spec.entrypoint_num_gpus)):
        if number is not None and number > 0:
            options.append(f"--entrypoint-{flag} {_as_single(number):f}")
    if spec.entrypoint_resources:
        options.append(f"--entrypoint-resources {go_quote(spec.entrypoint_resources)}")
    return options


def _as_single(number: float) -> float:
    """KubeRay keeps these numbers in single precision, and shows what became of their last digits."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return number  # KubeRay could not read it at all


def _supports_metadata(ray_version: str | None) -> bool:
    """Strict semantic versions here, unlike everywhere else; no version at all is fine (rayjob.md §8.1)."""
    if not ray_version:
        return True
    match = _STRICT_VERSION.fullmatch(ray_version)
    if match is None:
        return False
    is_release = match[4] is None  # KubeRay: any pre-release counts as too old
    numbers = [read_count(part or "0") for part in match.groups()[:3]]
    is_readable = None not in numbers
    return is_release and is_readable and tuple(number or 0 for number in numbers) >= _METADATA_SINCE
