"""Whether a sample runs on this machine, as far as its documents, its objects and their Pods say. Pure.

Samples that ask for hardware cannot run whatever is done; those of kinds that nobody reconciles come when the operator
does. All others are run, and what their Pods say is the reason where they do not.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from heliostat.explain.last_words import read_last_words

Tree = dict[str, Any]

RUNS: Final = "runs"
ACCEPTED: Final = "accepted"  # objects that nobody acts on
NOT_YET: Final = "not yet"
UNTRIED: Final = "not tried"  # since the operator has learnt its kind
CANNOT: Final = "cannot"

RAY_GROUP = "ray.io/"
_HARDWARE = re.compile(r"(?:^|/)(?:gpu|tpu)(?:-fraction)?$")
_HOPELESS = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "ContainerCannotRun")
_CRASHES = 3
_GIVEN_UP = ("DEPLOY_FAILED", "UNHEALTHY")
_GANG = "ray.io/gang-scheduling-enabled"
_DEFAULT_SCHEDULER = "default-scheduler"
_ADDRESS = re.compile(r"\bhttps?://([\w-]+(?:\.[\w-]*[a-z][\w-]*)+)|\b((?:gs|s3)://[\w@.-]+)")
_PACKAGES = re.compile(r"\bpip\b(?: install\b|[\"']?:)")


class Verdict(Struct, frozen=True):
    here: str
    why: str = ""


def judge_documents(trees: Sequence[Tree], reconciled: Collection[str]) -> Verdict | None:
    """None: it is worth a try. ``reconciled`` are kinds."""
    asked = sorted({word for tree in trees for word in _find_hardware(tree)})
    if asked:
        return Verdict(CANNOT, f"hardware: asks for {', '.join(asked)}")
    for kind in dict.fromkeys(tree["kind"] for tree in trees if is_ray(tree)):
        if kind not in reconciled:
            return Verdict(NOT_YET, "; ".join((f"the operator does not reconcile {kind} yet", *find_needs(trees))))
    return None


def renew(verdict: Verdict, trees: Sequence[Tree], reconciled: Collection[str]) -> Verdict:
    """What an earlier run said of a kind that the operator did not know then is not so any more."""
    if verdict.here != NOT_YET or judge_documents(trees, reconciled) is not None:
        return verdict
    return Verdict(UNTRIED, "; ".join(find_needs(trees)))


def find_needs(trees: Sequence[Tree]) -> list[str]:
    """What may keep a sample from running, for where it does not."""
    labels = sorted({label for tree in trees for label in _find_node_labels(tree)})
    downloads = find_downloads(trees)
    has_tls = any((tree.get("spec") or {}).get("tlsOptions") for tree in trees)
    return [
        *(["it needs cert-manager"] if has_tls else ()),
        *([f"it fetches {' and '.join(downloads)}"] if downloads else ()),
        *([f"it asks for nodes with {', '.join(labels)}"] if labels else ()),
    ]


def is_ray(tree: Tree) -> bool:
    return bool(tree["apiVersion"].startswith(RAY_GROUP))


def _find_hardware(tree: Tree) -> Iterator[str]:
    for mapping in _mappings(tree):
        for part in ("limits", "requests"):
            amounts = mapping.get(part)
            yield from (name for name in amounts or () if isinstance(amounts, dict) and _HARDWARE.search(name))
        annotations = mapping.get("annotations")
        yield from (name for name in annotations or () if isinstance(annotations, dict) and _HARDWARE.search(name))


def find_reservations(trees: Sequence[Tree]) -> list[str]:
    """What a sample that runs asks for besides, and does not get here."""
    labels = {key for tree in trees for key in tree["metadata"].get("labels") or ()}
    has_policies = any((tree.get("spec") or {}).get("networkPolicy") for tree in trees)
    return [
        *(["one Pod after the other: there is no batch scheduler here"] if _GANG in labels else ()),
        *(["its NetworkPolicies are kept and not enforced"] if has_policies else ()),
    ]


def _find_node_labels(tree: Tree) -> Iterator[str]:
    for mapping in _mappings(tree):
        selector = mapping.get("nodeSelector")
        if isinstance(selector, dict):
            yield from (f"{key}={value}" for key, value in selector.items() if not key.startswith("kubernetes.io/"))


def _mappings(value: Any) -> Iterator[Tree]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _mappings(each)


def judge_objects(objects: Iterable[Tree], pods: Sequence[Tree]) -> Verdict | None:
    """Of objects as they are now, and all Pods. None: it may still become something."""
    found = list(objects)
    for pod in pods:
        why = _find_obstacle(pod)
        if why:
            return Verdict(CANNOT, why)
    for each in found:
        why = _find_failure(each) if is_ray(each) else ""
        if why:
            return Verdict(CANNOT, why)
    done = all(_is_there(each) for each in found) and all(_is_ready(pod) for pod in pods)
    if not done and not _has_kept_time(found):
        return None
    # The Pods of a RayJob may be gone when it is over.
    is_acted_on = bool(pods) or any(map(is_ray, found))
    return Verdict(RUNS) if is_acted_on else Verdict(ACCEPTED, "objects that nobody acts on here")


def judge_late(objects: Iterable[Tree], seconds: float) -> Verdict | None:
    """When its time is over: a program that is written to run for longer does what it should, and so does a clock."""
    found = list(objects)
    if any(each["kind"] == "RayCronJob" and not _is_there(each) for each in found):
        return Verdict(ACCEPTED, f"its first job was not due within {seconds:.0f} s")
    jobs = [each for each in found if each["kind"] == "RayJob" and not _is_there(each)]
    is_running = [each.get("status", {}).get("jobStatus") == "RUNNING" for each in jobs]
    return Verdict(RUNS, f"its program was left after {seconds:.0f} s") if jobs and all(is_running) else None


def _find_obstacle(pod: Tree) -> str:
    """Empty: nothing that stays."""
    scheduler = pod["spec"].get("schedulerName", _DEFAULT_SCHEDULER)
    if scheduler != _DEFAULT_SCHEDULER and not pod["spec"].get("nodeName"):
        return f"another scheduler: {scheduler}"
    status = pod.get("status", {})
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return f"no node for it: {condition.get('message', '').partition('. ')[0]}"
    for container in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        waiting = container["state"].get("waiting", {})
        if waiting.get("reason") == "CrashLoopBackOff" and container.get("restartCount", 0) >= _CRASHES:
            return f"container {container['name']} ends again and again"
        if waiting.get("reason") in _HOPELESS:
            return f"container {container['name']}: {waiting['reason']}: {waiting.get('message', '')}"
        ended = container["state"].get("terminated")
        if ended is not None and ended["exitCode"] and pod["spec"].get("restartPolicy") == "Never":
            return f"container {container['name']} exited with code {ended['exitCode']}"
    return ""


def _has_kept_time(found: Sequence[Tree]) -> bool:
    """A RayCronJob of whose jobs one is complete; with the next ones it begins anew, every minute perhaps."""
    jobs = [each for each in found if each["kind"] == "RayJob"]
    return any(each["kind"] == "RayCronJob" for each in found) and any(map(_is_there, jobs))


def _is_ready(pod: Tree) -> bool:
    """Or done: a submitter beside the head ends well, and its Pod is never ready again."""
    status = pod.get("status", {})
    if status.get("phase") == "Succeeded" or pod["metadata"].get("deletionTimestamp"):
        return True
    containers = status.get("containerStatuses", ())
    has_ended = [each["state"].get("terminated", {}).get("exitCode") == 0 for each in containers if not each["ready"]]
    if has_ended and all(has_ended):
        return True
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", ()))


def _find_failure(each: Tree) -> str:
    """Empty: nothing that is over."""
    status = each.get("status", {})
    if status.get("jobDeploymentStatus") == "Suspended":
        return "it stays suspended until somebody resumes it"
    if "Failed" in (status.get("jobDeploymentStatus"), status.get("state")) or status.get("state") == "failed":
        return _shorten(str(status.get("message") or status.get("reason") or "it failed"))
    for slot in ("pendingServiceStatus", "activeServiceStatus"):
        for name, application in ((status.get(slot) or {}).get("applicationStatuses") or {}).items():
            if application.get("status") in _GIVEN_UP:
                return f"application {name} is {application['status']}: {_shorten(application.get('message', ''))}"
    return ""


def tell_states(objects: Iterable[Tree]) -> str:
    """How far what belongs to Ray has come."""
    told = []
    for each in filter(is_ray, objects):
        status = each.get("status", {})
        words = (status.get(key) for key in ("state", "jobDeploymentStatus", "serviceStatus", "jobStatus"))
        told.append(f"{each['kind']} {', '.join(filter(None, words)) or 'without a state'}")
    return "; ".join(told)


def _shorten(text: str) -> str:
    """What Ray says of it, and the program's last line."""
    words = read_last_words(text)
    return ": ".join((words.said, *(line.strip() for line in words.lines[-1:])))


def _is_there(each: Tree) -> bool:
    status = each.get("status", {})
    match each["kind"]:
        case "RayCluster":
            return bool(status.get("state") == "ready")
        case "RayJob":
            return status.get("jobDeploymentStatus") in ("Complete", "Waiting")  # Waiting is for somebody to submit
        case "RayService":
            ready = [one for one in status.get("conditions", ()) if one["type"] == "Ready"]
            return bool(ready) and ready[0]["status"] == "True"
        case "RayCronJob":
            return "lastScheduleTime" in status
        case "Deployment" | "StatefulSet":
            return bool(status.get("readyReplicas", 0) >= each["spec"].get("replicas", 1))
    return True


def find_downloads(trees: Iterable[Tree]) -> list[str]:
    """From where the programs of a sample fetch something; a host without a dot is a service of the cluster."""
    texts = [text for tree in trees for text in _texts(tree)]
    hosts = dict.fromkeys(host or bucket for text in texts for host, bucket in _ADDRESS.findall(text))
    packages = ["packages by pip"] if any(_PACKAGES.search(text) for text in texts) else []
    return [*(f"from {host}" for host in hosts), *packages]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in ("annotations", "labels", "env"):
                yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
