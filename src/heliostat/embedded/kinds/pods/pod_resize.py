"""Resizing a Pod in place: the processor and memory of its containers, and nothing else."""

from collections.abc import Iterator

from heliostat.embedded.kinds.pods.pod_resources import quality_of_service
from heliostat.embedded.kinds.pods.pod_spec_validation import pod_spec_causes
from heliostat.embedded.kinds.pods.pod_validation import MIRROR
from heliostat.embedded.kinds.rules.causes import forbidden, invalid
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_RESIZED = ("resources", "resizePolicy")
_SIZES = ("cpu", "memory")


def keep_all_but_sizes(new: JsonObject, old: JsonObject) -> JsonObject:
    """The old Pod with the new one's sizes; a Pod with other containers is given back as it is, to be refused."""
    spec = dict(old["spec"])
    for part in ("containers", "initContainers"):
        now, before = (new.get("spec") or {}).get(part) or [], old["spec"].get(part) or []
        names = [container.get("name") for container in now]
        if names != [container.get("name") for container in before]:
            return new
        if before:
            spec[part] = [_resized(container, former) for container, former in zip(now, before, strict=True)]
    return {**old, "spec": spec}


def _resized(container: JsonObject, former: JsonObject) -> JsonObject:
    kept = {key: value for key, value in former.items() if key not in _RESIZED}
    return kept | {key: container[key] for key in _RESIZED if key in container}


def resize_causes(new: JsonObject, old: JsonObject) -> Iterator[Cause]:
    spec, before = new["spec"], old["spec"]
    if spec.get("resources") or before.get("resources"):
        yield forbidden("", "pods with pod-level resources cannot be resized")
        return
    if MIRROR in (old["metadata"].get("annotations") or {}):
        yield forbidden("", "static pods cannot be resized")
        return
    yield from pod_spec_causes(spec, "spec", pod_name=new["metadata"]["name"], is_pod=True)
    quality = (old.get("status") or {}).get("qosClass")
    if quality_of_service(spec) != quality:
        yield invalid("spec", quality, "Pod QOS Class may not change as a result of resizing")
    others = list(_other_containers(spec, before))
    yield from others
    if not others:
        for index, (container, former) in enumerate(zip(spec["containers"], before["containers"], strict=True)):
            yield from _size_causes(container, former, f"spec.containers[{index}].resources")


def _other_containers(spec: JsonObject, before: JsonObject) -> Iterator[Cause]:
    for part in ("containers", "initContainers"):
        now, former = spec.get(part) or [], before.get(part) or []
        if len(now) != len(former):
            yield forbidden(f"spec.{part}", f"{part} may not be added or removed on resize")
            continue
        for index, (container, kept) in enumerate(zip(now, former, strict=True)):
            if container.get("name") != kept.get("name"):
                yield forbidden(f"spec.{part}[{index}].name", f"{part} may not be renamed or reordered on resize")


def _size_causes(container: JsonObject, former: JsonObject, path: str) -> Iterator[Cause]:
    now, before = container.get("resources") or {}, former.get("resources") or {}
    for part in ("requests", "limits"):
        asked, kept = now.get(part) or {}, before.get(part) or {}
        if not kept.keys() <= asked.keys():
            yield forbidden(f"{path}.{part}", f"resource {part} cannot be removed")
        others = [name for name in asked.keys() | kept.keys() if name not in _SIZES]
        if any(asked.get(name) != kept.get(name) for name in others):
            yield forbidden("spec", "only cpu and memory resources are mutable")
