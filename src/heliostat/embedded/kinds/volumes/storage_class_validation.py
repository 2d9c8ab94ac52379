"""StorageClasses: who provides, and that what volumes were made by does not change under them."""

from collections.abc import Iterator

from heliostat.embedded.kinds.rules.causes import (
    changed,
    each_invalid,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from heliostat.embedded.kinds.rules.name_rules import label_key_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_RECLAIM = ("Delete", "Retain")
_BINDING = ("Immediate", "WaitForFirstConsumer")
_MOST_PARAMETERS, _LARGEST_PARAMETERS = 512, 256 * 1024


def storage_class_causes(tree: JsonObject) -> Iterator[Cause]:
    provisioner = tree.get("provisioner", "")
    if not provisioner:
        yield required("provisioner")
    else:
        yield from each_invalid("provisioner", provisioner.lower(), label_key_problems(provisioner.lower()))
    yield from _parameter_causes(tree.get("parameters") or {})
    policy, mode = tree.get("reclaimPolicy", ""), tree.get("volumeBindingMode", "")
    if policy and policy not in _RECLAIM:
        yield not_supported("reclaimPolicy", policy, _RECLAIM)
    if mode not in _BINDING:
        yield not_supported("volumeBindingMode", mode, _BINDING)


def _parameter_causes(parameters: dict[str, str]) -> Iterator[Cause]:
    if len(parameters) > _MOST_PARAMETERS:
        yield too_long("parameters", _MOST_PARAMETERS)
        return
    if "" in parameters:
        yield invalid("parameters", "", "field can not be empty.")
    if sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items()) > _LARGEST_PARAMETERS:
        yield too_long("parameters", _LARGEST_PARAMETERS)


def changed_storage_class_causes(tree: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from storage_class_causes(tree)
    for name in ("parameters", "provisioner", "reclaimPolicy"):
        if (tree.get(name) or None) != (old.get(name) or None):
            yield forbidden(name, f"updates to {name} are forbidden.")
    yield from changed("volumeBindingMode", tree.get("volumeBindingMode"), old.get("volumeBindingMode"))
