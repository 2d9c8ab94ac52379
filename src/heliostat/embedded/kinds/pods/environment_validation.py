"""Variables of a container: their names, and where their values come from."""

from collections.abc import Iterator

from heliostat.embedded.kinds.pods.downward_validation import (
    field_reference_causes,
    is_plain_reference,
    resource_reference_causes,
)
from heliostat.embedded.kinds.rules.causes import each_invalid, invalid, required
from heliostat.embedded.kinds.rules.name_rules import dns1123_subdomain_problems
from heliostat.embedded.kinds.rules.text_rules import config_key_problems, environment_name_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_FIELDS = frozenset(
    {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
     "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
)  # fmt: skip
_ONE_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"


def environment_causes(container: JsonObject, path: str) -> Iterator[Cause]:
    for index, variable in enumerate(container.get("env") or ()):
        name = variable.get("name", "")
        if not name:
            yield required(f"{path}.env[{index}].name")
        elif not name.isidentifier() or not name.isascii():  # most are
            yield from each_invalid(f"{path}.env[{index}].name", name, environment_name_problems(name))
        if "valueFrom" in variable:
            yield from _source_causes(variable, f"{path}.env[{index}].valueFrom")
    for index, source in enumerate(container.get("envFrom") or ()):
        yield from _bulk_causes(source, f"{path}.envFrom[{index}]", f"{path}.envFrom")


def _source_causes(variable: JsonObject, path: str) -> Iterator[Cause]:
    source = variable["valueFrom"]
    if len(source) == 1 and "fieldRef" in source and is_plain_reference(source["fieldRef"], _FIELDS):
        if variable.get("value"):
            yield invalid(path, "", "may not be specified when `value` is not empty")
        return
    if "fieldRef" in source:
        yield from field_reference_causes(source["fieldRef"], _FIELDS, f"{path}.fieldRef")
    if "resourceFieldRef" in source:
        yield from resource_reference_causes(source["resourceFieldRef"], f"{path}.resourceFieldRef")
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in source:
            yield from _key_causes(source[name], f"{path}.{name}")
    if not source:
        yield invalid(path, "", _ONE_SOURCE)
    elif variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _key_causes(reference: JsonObject, path: str) -> Iterator[Cause]:
    name, key = reference.get("name", ""), reference.get("key", "")
    yield from each_invalid(f"{path}.name", name, dns1123_subdomain_problems(name))
    if not key:
        yield required(f"{path}.key")
    else:
        yield from each_invalid(f"{path}.key", key, config_key_problems(key))


def _bulk_causes(source: JsonObject, at: str, path: str) -> Iterator[Cause]:
    prefix = source.get("prefix", "")
    if prefix:
        yield from each_invalid(f"{at}.prefix", prefix, environment_name_problems(prefix))
    references = [name for name in ("configMapRef", "secretRef") if name in source]
    for name in references:
        target = source[name].get("name", "")
        if not target:
            yield required(f"{at}.{name}.name")
        else:
            yield from each_invalid(f"{at}.{name}.name", target, dns1123_subdomain_problems(target))
    if not references:
        yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(references) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")
