"""Jobs and CronJobs: how often and how long to try, by whose labels, and what stays once a Job runs."""

from collections.abc import Iterator
from typing import Any

from heliostat.embedded.kinds.pods.pod_validation import template_causes
from heliostat.embedded.kinds.rules.causes import changed, invalid, negative, not_supported, required, too_long
from heliostat.embedded.kinds.rules.label_rules import read_selector, selector_causes
from heliostat.embedded.kinds.rules.name_rules import dns1123_label_problems
from heliostat.embedded.kinds.workloads.cron_text import cron_problem
from heliostat.embedded.kinds.workloads.job_labels import GENERATED, PREFIXED
from heliostat.embedded.kinds.workloads.job_policies import failure_policy_causes
from heliostat.embedded.kinds.workloads.job_success import success_policy_causes
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject, copy_tree

_COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_INDEXED = "Indexed"
_LONGEST_MANAGER = 63
_LONGEST_CRON_NAME = 52
_PARALLEL_LIMIT = 100_000


def new_job_causes(tree: JsonObject) -> Iterator[Cause]:
    spec = tree["spec"]
    yield from _generated_label_causes(tree)
    yield from _owned_job_causes(spec)
    completions = spec.get("completions")
    if spec.get("completionMode") == _INDEXED and completions:
        last = f"{tree['metadata'].get('name', '')}-{completions - 1}"
        if dns1123_label_problems(last):
            why = f"will not able to create pod with invalid DNS label: {last}"
            yield invalid("metadata.name", tree["metadata"].get("name", ""), why)


def _generated_label_causes(tree: JsonObject) -> Iterator[Cause]:
    spec, metadata = tree["spec"], tree["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    expected = {key: metadata.get(source, "") for key, source in (*GENERATED, *PREFIXED)}
    path = "spec.template.metadata.labels"
    for key, value in expected.items():
        if key not in labels:
            yield required(f"{path}[{key}]", f"must be '{value}'")
        elif labels[key] != value:
            yield invalid(f"{path}[{key}]", labels, f"must be '{value}'")
    selector = read_selector(spec["selector"])
    if selector is not None and not selector.matches(expected):
        yield invalid("spec.selector", spec["selector"], "`selector` not auto-generated")


def _owned_job_causes(spec: JsonObject) -> Iterator[Cause]:
    yield from job_spec_causes(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
    else:
        yield from selector_causes(selector, "spec.selector")
    chosen = read_selector(selector)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if chosen is not None and not chosen.matches(labels):
        yield invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def job_spec_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    for name in _COUNTS:
        yield from negative(f"{path}.{name}", spec.get(name))
        if name == "maxFailedIndexes" and name in spec and "backoffLimitPerIndex" not in spec:
            yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    yield from _manager_causes(spec.get("managedBy"), f"{path}.managedBy")
    yield from _mode_causes(spec, path)
    if "podFailurePolicy" in spec:
        yield from failure_policy_causes(spec, f"{path}.podFailurePolicy")
    yield from _replacement_causes(spec, f"{path}.podReplacementPolicy")
    yield from template_causes(spec.get("template") or {}, f"{path}.template")
    yield from _restart_causes(spec, f"{path}.template.spec.restartPolicy")


def _manager_causes(manager: str | None, path: str) -> Iterator[Cause]:
    if manager is None:
        return
    domain, slash, rest = manager.partition("/")
    if not manager:
        yield required(path)
    elif not (domain and slash and rest):
        yield invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
    if len(manager) > _LONGEST_MANAGER:
        yield too_long(path, _LONGEST_MANAGER)


def _mode_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    mode = spec.get("completionMode")
    if mode not in (None, "NonIndexed", _INDEXED):
        yield not_supported(f"{path}.completionMode", mode, ("NonIndexed", _INDEXED))
    if mode == _INDEXED:
        if spec.get("completions") is None:
            yield required(f"{path}.completions", f"when completion mode is {_INDEXED}")
        if spec.get("parallelism", 0) > _PARALLEL_LIMIT:
            why = f"must be less than or equal to {_PARALLEL_LIMIT} when completion mode is {_INDEXED}"
            yield invalid(f"{path}.parallelism", spec["parallelism"], why)
        if spec.get("completions") is not None and spec.get("maxFailedIndexes", 0) > spec["completions"]:
            why = "must be less than or equal to completions"
            yield invalid(f"{path}.maxFailedIndexes", spec.get("maxFailedIndexes", 0), why)
        if "successPolicy" in spec:
            yield from success_policy_causes(spec, f"{path}.successPolicy")
    elif mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if name in spec:
                yield invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")
        if "successPolicy" in spec:
            yield invalid(f"{path}.successPolicy", spec["successPolicy"], "requires indexed completion mode")


def _replacement_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    policy = spec.get("podReplacementPolicy")
    choices = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
    if policy is not None and policy not in choices:
        yield not_supported(path, policy, choices)


def _restart_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("Always", ""):
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(path, policy, ("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and policy != "Never":
        yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


_FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")


def changed_job_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    spec, before = tree["spec"], old["spec"]
    wrong = list(new_job_causes(tree))
    yield from wrong
    if wrong:  # a changed Job is judged as a new one and then once more
        yield from _owned_job_causes(spec)
    yield from _completion_causes(spec, before)
    yield from changed("spec.selector", spec.get("selector"), before.get("selector"))
    kept = before.get("template")
    if _may_be_rescheduled(old):
        kept = _with_new_scheduling(spec.get("template"), kept)
    if spec.get("template") != kept:
        yield invalid("spec.template", spec.get("template"), "field is immutable")
    for name in _FIXED:
        yield from changed(f"spec.{name}", spec.get(name), before.get(name))


def _completion_causes(spec: JsonObject, before: JsonObject) -> Iterator[Cause]:
    now, former = spec.get("completions"), before.get("completions")
    if spec.get("completionMode") != _INDEXED:
        yield from changed("spec.completions", now, former)
    elif now is not None and now != former and now != spec.get("parallelism"):
        yield invalid("spec.completions", now, "can only be modified in tandem with spec.parallelism")


def _may_be_rescheduled(old: JsonObject) -> bool:
    """A Job that is suspended and never ran."""
    return bool(old["spec"].get("suspend")) and not (old.get("status") or {}).get("startTime")


_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")


def _with_new_scheduling(template: Any, kept: Any) -> Any:
    if not isinstance(template, dict) or not isinstance(kept, dict):
        return kept
    kept = copy_tree(kept)
    pod, new = kept.setdefault("spec", {}), template.get("spec") or {}
    for name in _SCHEDULING:
        pod.pop(name, None)
        if name in new:
            pod[name] = new[name]
    affinity = {key: value for key, value in (pod.pop("affinity", None) or {}).items() if key != "nodeAffinity"}
    if "nodeAffinity" in (new.get("affinity") or {}):
        affinity["nodeAffinity"] = new["affinity"]["nodeAffinity"]
    if affinity or new.get("affinity") == {}:
        pod["affinity"] = affinity
    metadata, own = kept.setdefault("metadata", {}), template.get("metadata") or {}
    for name in ("labels", "annotations"):
        metadata.pop(name, None)
        if name in own:
            metadata[name] = own[name]
    return kept


def new_cron_job_causes(tree: JsonObject) -> Iterator[Cause]:
    yield from _cron_job_causes(tree["spec"])
    name = tree["metadata"].get("name", "")
    if len(name) > _LONGEST_CRON_NAME:
        yield invalid("metadata.name", name, f"must be no more than {_LONGEST_CRON_NAME} characters")


def changed_cron_job_causes(tree: JsonObject, _old: JsonObject) -> Iterator[Cause]:
    yield from _cron_job_causes(tree["spec"])


def _cron_job_causes(spec: JsonObject) -> Iterator[Cause]:
    schedule = spec.get("schedule", "")
    if not schedule:
        yield required("spec.schedule")
    else:
        problem = cron_problem(schedule)
        if problem:
            yield invalid("spec.schedule", schedule, problem)
        if "TZ" in schedule:
            why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            yield invalid("spec.schedule", schedule, why)
    yield from negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    yield from _zone_causes(spec.get("timeZone"))
    policies = ("Allow", "Forbid", "Replace")
    if spec.get("concurrencyPolicy") not in policies:
        yield not_supported("spec.concurrencyPolicy", spec.get("concurrencyPolicy", ""), policies)
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    yield from job_spec_causes(job, "spec.jobTemplate.spec")
    if job.get("selector") is not None:
        yield invalid("spec.jobTemplate.spec.selector", job["selector"], "`selector` will be auto-generated")
    if job.get("manualSelector"):
        yield not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false"))
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from negative(f"spec.{name}", spec.get(name))


def _zone_causes(zone: str | None) -> Iterator[Cause]:
    if zone is None:
        return
    if not zone:
        yield invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
        return
    if zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid("spec.timeZone", zone, why)
    if not _is_zone(zone):
        yield invalid("spec.timeZone", zone, f"unknown time zone {zone}")


def _is_zone(name: str) -> bool:
    import zoneinfo  # noqa: PLC0415  few CronJobs name a zone

    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
