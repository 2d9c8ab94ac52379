"""The dashboard's routes: one request to one scripted cluster, answered at once, in the shapes that Ray has.

``as_of`` is the moment that reads tell of; it is earlier than now where an answer is to be stale.
"""

import re
from typing import Any

import msgspec

from heliostat.kube.jsontree import encode_json
from heliostat.ray.answers import ENDED, RUNNING, STOPPED
from heliostat.runtime.transport import Reply
from heliostat.testing.scripted_ray.script import RayScript
from heliostat.testing.scripted_ray.state import Deployed, ScriptedCluster, ScriptedJob, ScriptedRay

SUCCESS = Reply(200, b"success")
_JOB = re.compile(r"/api/jobs/([^/]+)(/stop|/logs)?")
_PACKAGE = re.compile(r"/api/packages/[^/]+/([^/]+)")
_PROXY_HEALTH = "/-/healthz"
_HEALTH = (_PROXY_HEALTH, "/api/gcs_healthz", "/api/local_raylet_healthz")
_VERSION = {"version": "4", "ray_version": "2.60.0", "ray_commit": "scripted", "session_name": "session_scripted"}


def answer(ray: ScriptedRay, cluster: ScriptedCluster, method: str, path: str, body: bytes, as_of: float) -> Reply:
    """The state is changed at once."""
    if path == _PROXY_HEALTH and not ray.script_of(cluster).are_proxies_healthy:
        return Reply(503, b"DRAINING")
    if path in _HEALTH:
        return SUCCESS
    if path == "/api/version":
        return _json(_VERSION)
    if path == "/api/serve/applications/":
        return _put(ray, cluster, body) if method == "PUT" else _json(_serve(ray, cluster, as_of))
    if path == "/api/jobs/":
        return _submit(ray, cluster, body) if method == "POST" else _json(_list(ray, cluster, as_of))
    if (found := _JOB.fullmatch(path)) is not None:
        return _about_job(ray, cluster, (method, found[1], found[2] or ""), as_of)
    if (found := _PACKAGE.fullmatch(path)) is not None:
        return _package(cluster, method, found[1])
    return Reply(404, b"404: Not Found")


def status_of(script: RayScript, job: ScriptedJob, at: float) -> str:
    if job.stopped is not None and at >= job.stopped:
        return STOPPED
    return script.job_status(job.id, job.entrypoint, at - job.submitted)


def _submit(ray: ScriptedRay, cluster: ScriptedCluster, body: bytes) -> Reply:
    try:
        wanted = msgspec.json.decode(body)
        entrypoint, id_ = wanted["entrypoint"], wanted.get("submission_id") or f"raysubmit_{len(cluster.jobs)}"
        if not isinstance(entrypoint, str):
            raise TypeError(f"entrypoint must be a string, got {type(entrypoint)}")  # noqa: TRY301  in Ray's words
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError) as error:
        return Reply(400, f"Traceback (most recent call last):\n{type(error).__name__}: {error}\n".encode())
    if id_ in cluster.jobs:
        words = f"Job with submission_id {id_} already exists. Please use a different submission_id."
        told = f"Traceback …\nRuntimeError: Request failed with status code 400: Traceback …\nValueError: {words}\n.\n"
        return Reply(500, told.encode())
    metadata, runtime_env = wanted.get("metadata") or {}, wanted.get("runtime_env") or {}
    cluster.jobs[id_] = ScriptedJob(id_, entrypoint, ray.now(), metadata, runtime_env)
    ray.accept(cluster, id_, entrypoint)
    return _json({"job_id": id_, "submission_id": id_})


def _list(ray: ScriptedRay, cluster: ScriptedCluster, as_of: float) -> list[Any]:
    return [_describe(ray.script_of(cluster), job, as_of) for job in cluster.jobs.values() if job.submitted <= as_of]


def _about_job(ray: ScriptedRay, cluster: ScriptedCluster, asked: tuple[str, str, str], as_of: float) -> Reply:
    method, id_, part = asked
    job = _find(ray, cluster, id_, is_read=method == "GET" and not part)
    if job is None or job.submitted > as_of:
        return Reply(404, f"Job {id_} does not exist".encode())
    script = ray.script_of(cluster)
    status = status_of(script, job, ray.now() if method != "GET" else as_of)
    match method, part:
        case "GET", "":
            return _json(_describe(script, job, as_of))
        case "GET", "/logs":
            return _json({"logs": _log(job, status)})
        case "POST", "/stop":
            if status not in ENDED:
                job.stopped = ray.now()
            return _json({"stopped": status not in ENDED})
        case "DELETE", "" if status in ENDED:
            del cluster.jobs[id_]
            return _json({"deleted": True})
        case "DELETE", "":
            return Reply(
                500, f"RuntimeError: Attempted to delete job '{id_}', but it is in a non-terminal state".encode()
            )
    return Reply(405, b"405: Method Not Allowed")


def _find(ray: ScriptedRay, cluster: ScriptedCluster, id_: str, *, is_read: bool) -> ScriptedJob | None:
    """With the recorded script, who asks a second time finds a job that nobody sent here: its submitter is a Pod."""
    job = cluster.jobs.get(id_)
    if job is None and is_read and ray.script_of(cluster).appears_when_asked:
        if id_ in cluster.asked_for:
            job = cluster.jobs[id_] = ScriptedJob(id_, "", ray.now(), {}, {})
        cluster.asked_for.add(id_)
    return job


def _describe(script: RayScript, job: ScriptedJob, at: float) -> dict[str, Any]:
    status = status_of(script, job, at)
    has_run = at - job.submitted >= script.pending_seconds
    ended = min(job.stopped or float("inf"), job.submitted + script.ends_after)
    return {
        "type": "SUBMISSION",
        "job_id": None,
        "submission_id": job.id,
        "driver_info": None,
        "status": status,
        "entrypoint": job.entrypoint,
        "message": _message(job, status),
        "error_type": None,
        "start_time": int(job.submitted * 1000),
        "end_time": int(ended * 1000) if status in ENDED else None,
        "metadata": job.metadata,
        "runtime_env": job.runtime_env,
        "driver_agent_http_address": "http://127.0.0.1:52365" if has_run else None,
        "driver_node_id": "scripted" if has_run else None,
        "driver_exit_code": {"SUCCEEDED": 0, "FAILED": 1}.get(status),
    }


def _message(job: ScriptedJob, status: str) -> str:
    words = {
        "PENDING": "Job has not started yet. It may be waiting for the runtime environment to be set up.",
        "RUNNING": "Job is currently running.",
        "STOPPED": "Job was intentionally stopped.",
        "SUCCEEDED": "Job finished successfully.",
        "FAILED": f"Job entrypoint command failed with exit code 1, last available logs:\n{job.id} fails\n",
    }
    return words[status]


def _log(job: ScriptedJob, status: str) -> str:
    begun = f"{job.id} begins\n" if status == RUNNING or status in ENDED else ""
    return begun + (f"{job.id} ends: {status}\n" if status in ENDED else "")


def _put(ray: ScriptedRay, cluster: ScriptedCluster, body: bytes) -> Reply:
    try:
        config = msgspec.json.decode(body, type=dict[str, Any])
        applications = _applications(config)
    except (msgspec.MsgspecError, AttributeError, TypeError) as error:
        return Reply(400, f"1 validation error for ServeDeploySchema\n{error}".encode())
    cluster.deploy(Deployed(applications, ray.now(), config.get("target_capacity")))
    return Reply(200, b"")


def _applications(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Serve gives what is said about logs for all to each application that says nothing about its own."""
    for_all = {"logging_config": config["logging_config"]} if config.get("logging_config") else {}
    return {each.get("name") or "default": {**for_all, **each} for each in config.get("applications") or []}


def _serve(ray: ScriptedRay, cluster: ScriptedCluster, at: float) -> dict[str, Any]:
    script = ray.script_of(cluster)
    told = cluster.told_at(at, script.following_seconds)
    return {
        "controller_info": {},
        "proxy_location": "EveryNode",
        "http_options": {"host": "0.0.0.0", "port": 8000},  # noqa: S104  an answer, not a socket
        "grpc_options": {"port": 9000, "grpc_servicer_functions": []},
        "proxies": {},
        "deploy_mode": "MULTI_APP",
        "applications": {name: _application(script, told, name, at) for name in told.applications},
        "target_capacity": told.target_capacity,
    }


def _application(script: RayScript, told: Deployed, name: str, at: float) -> dict[str, Any]:
    config = told.applications[name]
    status, deployment = script.application_status(name, at - told.at)
    return {
        "name": name,
        "route_prefix": config.get("route_prefix", "/"),
        "docs_path": None,
        "status": status,
        "message": "",
        "last_deployed_time_s": told.at,
        "deployed_app_config": config,
        "source": "declarative",
        "deployments": {"D": {"name": "D", "status": deployment, "message": "", "replicas": []}},
    }


def _package(cluster: ScriptedCluster, method: str, name: str) -> Reply:
    if method == "PUT":
        cluster.packages.add(name)
    return Reply(200, b"") if name in cluster.packages else Reply(404, f"Package gcs://{name} does not exist".encode())


def _json(value: Any) -> Reply:
    return Reply(200, encode_json(value))
