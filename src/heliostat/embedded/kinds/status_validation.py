"""What a status may say: counts that fit together, and for a Job an end that is reached once and by its stages."""

from collections.abc import Iterator

from heliostat.embedded.kinds.rules.address_rules import ip_causes
from heliostat.embedded.kinds.rules.causes import (
    each_invalid,
    forbidden,
    invalid,
    invalid_without_value,
    negative,
    required,
)
from heliostat.embedded.kinds.rules.name_rules import dns1123_subdomain_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_REPLICAS = {  # kind -> counts that are parts of status.replicas
    "Deployment": ("updatedReplicas", "readyReplicas", "availableReplicas"),
    "ReplicaSet": ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    "StatefulSet": ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
}
_TERMINAL = ("Failed", "Complete", "FailureTarget")
_CONDITIONS = "status.conditions"


def replicas_status_causes(tree: JsonObject, _old: JsonObject) -> Iterator[Cause]:
    status, kind = tree.get("status") or {}, tree["kind"]
    parts = _REPLICAS[kind]
    for name in ("observedGeneration", "replicas", *parts, "unavailableReplicas", "collisionCount"):
        yield from negative(f"status.{name}", status.get(name))
    whole = status.get("replicas", 0)
    for name in parts:
        if status.get(name, 0) > whole:
            yield invalid(f"status.{name}", status.get(name, 0), "cannot be greater than status.replicas")
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        ready = "status.readyReplicas" if kind == "StatefulSet" else "readyReplicas"
        yield invalid("status.availableReplicas", available, f"cannot be greater than {ready}")


def service_status_causes(tree: JsonObject, _old: JsonObject) -> Iterator[Cause]:
    ingress = ((tree.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    path = "status.loadBalancer.ingress"
    if ingress and tree["spec"].get("type") != "LoadBalancer":
        yield forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for index, point in enumerate(ingress):
        if point.get("ip"):
            yield from ip_causes(f"{path}[{index}].ip", point["ip"])
        elif point.get("ipMode") is not None:
            yield forbidden(f"{path}[{index}].ipMode", "may not be specified when `ip` is not set")
        if point.get("hostname"):
            host = point["hostname"]
            yield from each_invalid(f"{path}[{index}].hostname", host, dns1123_subdomain_problems(host))


def job_status_causes(job: JsonObject, old: JsonObject) -> Iterator[Cause]:
    status, before = job.get("status") or {}, old.get("status") or {}
    for name in ("active", "succeeded", "failed", "ready", "terminating"):
        yield from negative(f"status.{name}", status.get(name))
    now, then = _true_conditions(status), _true_conditions(before)
    if now != then:
        yield from _stage_causes(now)
    if now & {"Complete", "Failed"}:
        yield from _finished_causes(job, status)
    yield from _time_causes(status, before, now)
    for name in _TERMINAL:
        if name in then - now:
            yield invalid_without_value(_CONDITIONS, f"cannot disable the terminal {name}=True condition")
    if "SuccessCriteriaMet" in then - now:
        yield invalid_without_value(_CONDITIONS, "cannot disable the SuccessCriteriaMet=True condition")
    for name in ("failed",) if _is_elastic(job["spec"]) else ("failed", "succeeded"):
        if status.get(name, 0) < before.get(name, 0):
            yield invalid(f"status.{name}", status.get(name, 0), f"cannot decrease the {name} counter")
    if status.get("ready", 0) > status.get("active", 0):
        yield invalid("status.ready", status.get("ready", 0), "cannot set more ready pods than active")


def _is_elastic(spec: JsonObject) -> bool:
    """An Indexed Job with a Pod for each index at once may become smaller, and then loses those that have succeeded."""
    return spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")


def _true_conditions(status: JsonObject) -> set[str]:
    return {each["type"] for each in status.get("conditions") or () if each.get("status") == "True"}


_TOGETHER = (
    ("Complete", "Failed", "cannot set Complete=True and Failed=true conditions"),
    ("Complete", "FailureTarget", "cannot set Complete=True and FailureTarget=true conditions"),
    ("SuccessCriteriaMet", "Failed", "cannot set SuccessCriteriaMet=True and Failed=true conditions"),
    ("SuccessCriteriaMet", "FailureTarget", "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"),
)
_BEFORE = (
    ("Failed", "FailureTarget", "cannot set Failed=True condition without the FailureTarget=true condition"),
    (
        "Complete",
        "SuccessCriteriaMet",
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    ),
)


def _stage_causes(now: set[str]) -> Iterator[Cause]:
    for one, other, why in _TOGETHER:
        if {one, other} <= now:
            yield invalid_without_value(_CONDITIONS, why)
    for end, stage, why in _BEFORE:
        if end in now and stage not in now:
            yield invalid_without_value(_CONDITIONS, why)


def _finished_causes(job: JsonObject, status: JsonObject) -> Iterator[Cause]:
    if status.get("active", 0) > 0:
        yield invalid("status.active", status["active"], "active>0 is invalid for finished job")
    idle = job["spec"].get("suspend") and job["spec"].get("completions") == 0
    if not status.get("startTime") and not idle:
        yield required("status.startTime", "startTime is required for finished job")
    if status.get("terminating", 0) > 0:
        yield invalid("status.terminating", status["terminating"], "terminating>0 is invalid for finished job")


def _time_causes(status: JsonObject, before: JsonObject, now: set[str]) -> Iterator[Cause]:
    path, completed = "status.completionTime", status.get("completionTime")
    if completed and "Complete" not in now:
        yield invalid(path, completed, "cannot set completionTime when there is no Complete=True condition")
    if not completed and "Complete" in now:
        yield required(path, "completionTime is required for Complete jobs")
    if completed and status.get("startTime", completed) > completed:
        yield invalid(path, completed, "must be equal to or after `startTime`")
    if completed and before.get("completionTime") not in (None, completed):
        yield invalid(path, completed, "field is immutable")
