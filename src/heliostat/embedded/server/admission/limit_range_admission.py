"""LimitRanges: what a container gets that says nothing, and how little or much anything may ask for.

Rules: defaults are filled in before a Pod is judged, and an annotation says which; bounds are judged for each
container, for the Pod as a whole and for claims; every broken bound is told in one refusal.
"""

from collections.abc import Iterator

import msgspec

from heliostat.embedded.kinds.pods.pod_resources import Amounts, container_amounts, read_amounts
from heliostat.embedded.refusals import forbidden
from heliostat.embedded.storage.keys import Scope
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject

RANGES = "limitranges"
ANNOTATION = "kubernetes.io/limit-ranger"


def limits_of(store: Store, namespace: str) -> list[JsonObject]:
    scope = Scope(RANGES, namespace)
    if not store.count(scope):
        return []
    trees = [msgspec.json.decode(record.body) for record in store.page(scope).records]
    return [item for tree in trees for item in (tree.get("spec") or {}).get("limits") or ()]


def fill_limits(pod: JsonObject, limits: list[JsonObject]) -> None:
    told: list[str] = []
    defaults = [item for item in limits if item.get("type") == "Container"]
    for part, what in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(part) or ():
            for item in defaults:
                told += _fill_container(container, item, what)
    if told:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[ANNOTATION] = "LimitRanger plugin set: " + "; ".join(told)


def _fill_container(container: JsonObject, item: JsonObject, what: str) -> list[str]:
    resources, told = container.setdefault("resources", {}), []
    for part, source, word in (("requests", "defaultRequest", "request"), ("limits", "default", "limit")):
        given = dict(resources.get(part) or {})
        added = {name: value for name, value in (item.get(source) or {}).items() if name not in given}
        if added:
            resources[part] = {**given, **added}
            told.append(f"{', '.join(sorted(added))} {word} for {what} {container.get('name', '')}")
    return told


def check_pod_limits(pod: JsonObject, limits: list[JsonObject]) -> None:
    spec = pod["spec"]
    problems: list[str] = []
    for item in limits:
        if item.get("type") == "Container":
            for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
                resources = container.get("resources") or {}
                asked, most = (read_amounts(resources.get(part)) for part in ("requests", "limits"))
                problems += _broken(item, asked, most)
        elif item.get("type") == "Pod":
            problems += _broken(item, container_amounts(spec, "requests"), container_amounts(spec, "limits"))
    _refuse("pods", pod, problems)


def check_claim_limits(claim: JsonObject, limits: list[JsonObject]) -> None:
    asked = read_amounts((claim["spec"].get("resources") or {}).get("requests"))
    problems: list[str] = []
    for item in limits:
        if item.get("type") == "PersistentVolumeClaim":
            problems += _too_little(item, asked, {})
            problems += _too_much_asked(item, asked)
    _refuse("persistentvolumeclaims", claim, problems)


def _refuse(plural: str, tree: JsonObject, problems: list[str]) -> None:
    if problems:
        why = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise forbidden(plural, "", tree["metadata"].get("name", ""), why)


def _broken(item: JsonObject, asked: Amounts, most: Amounts) -> Iterator[str]:
    yield from _too_little(item, asked, most)
    yield from _too_much(item, asked, most)
    yield from _too_far_apart(item, asked, most)


def _too_little(item: JsonObject, asked: Amounts, most: Amounts) -> Iterator[str]:
    for name, least in read_amounts(item.get("min")).items():
        bound = f"minimum {name} usage per {item['type']} is {least}"
        if name not in asked:
            yield f"{bound}.  No request is specified"
        elif asked[name] < least:
            yield f"{bound}, but request is {asked[name]}"
        elif name in most and most[name] < least:
            yield f"{bound}, but limit is {most[name]}"


def _too_much(item: JsonObject, asked: Amounts, most: Amounts) -> Iterator[str]:
    for name, highest in read_amounts(item.get("max")).items():
        bound = f"maximum {name} usage per {item['type']} is {highest}"
        if name not in most:
            yield f"{bound}.  No limit is specified"
        elif most[name] > highest:
            yield f"{bound}, but limit is {most[name]}"
        elif name in asked and asked[name] > highest:
            yield f"{bound}, but request is {asked[name]}"


def _too_much_asked(item: JsonObject, asked: Amounts) -> Iterator[str]:
    for name, highest in read_amounts(item.get("max")).items():
        bound = f"maximum {name} usage per {item['type']} is {highest}"
        if name not in asked:
            yield f"{bound}.  No request is specified"
        elif asked[name] > highest:
            yield f"{bound}, but request is {asked[name]}"


def _too_far_apart(item: JsonObject, asked: Amounts, most: Amounts) -> Iterator[str]:
    for name, widest in read_amounts(item.get("maxLimitRequestRatio")).items():
        bound = f"{name} max limit to request ratio per {item['type']} is {widest}"
        if name not in asked or asked[name].is_zero:
            yield f"{bound}, but no request is specified or request is 0"
        elif name not in most or most[name].is_zero:
            yield f"{bound}, but no limit is specified or limit is 0"
        elif most[name].nano * 10**9 > widest.nano * asked[name].nano:
            yield f"{bound}, but provided ratio is {most[name].nano / asked[name].nano:f}"
