"""What makes a CustomResourceDefinition unusable, all of it at once.

kube-apiserver names what all versions have in common where older definitions had it: ``spec.validation``,
``spec.subresources``, ``spec.additionalPrinterColumns``; so does this. What identifies objects that may be there
already cannot be changed.
"""

from collections.abc import Iterator
from functools import reduce
from typing import Any

from heliostat.embedded.kinds.rules.causes import Inner, each_invalid, invalid, not_supported, required
from heliostat.embedded.kinds.rules.name_rules import dns1035_label_problems, dns1123_subdomain_problems
from heliostat.embedded.refusals import Cause
from heliostat.embedded.refusals import invalid as refuse_invalid
from heliostat.embedded.server.custom.custom_resources import is_established
from heliostat.embedded.server.custom.custom_rules import CustomRules
from heliostat.embedded.server.custom.definition_schema import structural_causes
from heliostat.kube.go_text import go_json
from heliostat.kube.jsontree import JsonObject

_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_SIMPLE_PATH = "must be a simple json path starting with ."
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


def check_definition(crd: JsonObject, old: JsonObject | None = None) -> None:
    causes = [*_causes(crd), *(_changed_names(crd["spec"], old) if old is not None else ())]
    if causes:
        name = crd["metadata"].get("name", "")
        raise refuse_invalid("CustomResourceDefinition", "apiextensions.k8s.io", name, causes)


def _causes(crd: JsonObject) -> Iterator[Cause]:
    spec, name = crd["spec"], crd["metadata"].get("name", "")
    names, group = spec.get("names") or {}, spec.get("group") or ""
    if name != f"{names.get('plural', '')}.{group}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _approval_causes(crd["metadata"].get("annotations") or {}, group)
    yield from _group_causes(group)
    scope = spec.get("scope") or ""
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield not_supported("spec.scope", scope, ("Cluster", "Namespaced"))
    versions = spec.get("versions") or []
    yield from _version_causes(versions)
    yield from (required(f"spec.names.{field}") for field in _NAMES if not names.get(field))
    shared = frozenset(field for field in _PLACES if _is_shared(versions, field))
    for index, version in enumerate(versions):
        yield from _served_causes(shared, index, version)


_NAMES = ("plural", "singular", "kind", "listKind")
_PLACES = {  # of what all versions have in common
    "schema": "spec.validation",
    "subresources": "spec.subresources",
    "additionalPrinterColumns": "spec.additionalPrinterColumns",
}


def _approval_causes(annotations: JsonObject, group: str) -> Iterator[Cause]:
    if not any(group == each or group.endswith(f".{each}") for each in _PROTECTED):
        return
    at, given = f"metadata.annotations[{_APPROVAL}]", annotations.get(_APPROVAL)
    words = f'protected groups must have approval annotation "{_APPROVAL}"'
    if given is None:
        yield required(at, f"{words}, {_SEE}")
    elif "://" not in given and not given.startswith("unapproved"):
        yield invalid(at, given, f'{words} with either a URL or a reason starting with "unapproved", {_SEE}')


def _group_causes(group: str) -> Iterator[Cause]:
    if not group:
        yield required("spec.group")
        return
    yield from each_invalid("spec.group", group, dns1123_subdomain_problems(group))
    if "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def _version_causes(versions: list[JsonObject]) -> Iterator[Cause]:
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        yield invalid("spec.versions", _inner_versions(versions), why)
        if not any(version.get("storage") for version in versions):
            yield invalid("status.storedVersions", None, "must have at least one stored version")
    if versions:
        yield from each_invalid("spec.version", versions[0]["name"], dns1035_label_problems(versions[0]["name"]))
    for index, version in enumerate(versions):
        yield from each_invalid(
            f"spec.versions[{index}].name", version["name"], dns1035_label_problems(version["name"])
        )


def _inner_versions(versions: list[JsonObject]) -> Any:
    """By the fields of kube-apiserver's inner type; what all versions have in common is not among them."""
    if not versions:
        return None
    unset = ("DeprecationWarning", "Schema", "Subresources", "AdditionalPrinterColumns", "SelectableFields")
    rows = (
        f'{{"Name":{go_json(version["name"])},"Served":{go_json(bool(version.get("served")))}'
        f',"Storage":{go_json(bool(version.get("storage")))},"Deprecated":{go_json(bool(version.get("deprecated")))},'
        + ",".join(f'"{field}":null' for field in unset)
        + "}"
        for version in versions
    )
    return Inner(f"[{','.join(rows)}]")


def _served_causes(shared: frozenset[str], index: int, version: JsonObject) -> Iterator[Cause]:
    """Of one version; what all have in common is judged with the first."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if not schema:
        yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    elif place := _place(shared, index, "schema"):
        yield from structural_causes(schema, f"{place}.openAPIV3Schema")
        yield from CustomRules(schema, f"{place}.openAPIV3Schema").definition_causes()
    if place := _place(shared, index, "subresources"):
        scale = (version.get("subresources") or {}).get("scale")
        yield from _scale_causes(scale, f"{place}.scale") if scale is not None else ()
    if place := _place(shared, index, "additionalPrinterColumns"):
        for at, column in enumerate(version.get("additionalPrinterColumns") or ()):
            yield from _column_causes(column, f"{place}[{at}]")


def _is_shared(versions: list[JsonObject], field: str) -> bool:
    return all(version.get(field) == versions[0].get(field) for version in versions)


def _place(shared: frozenset[str], index: int, field: str) -> str:
    """Empty for what was judged with an earlier version."""
    if field in shared:
        return _PLACES[field] if index == 0 else ""
    return f"spec.versions[{index}].{field}"


def _scale_causes(scale: JsonObject, at: str) -> Iterator[Cause]:
    for field, start in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        path = scale.get(field) or ""
        if not path:
            yield required(f"{at}.{field}")
        elif not path.startswith("."):
            yield invalid(f"{at}.{field}", path, _SIMPLE_PATH)
        elif not path.startswith(start):
            yield invalid(f"{at}.{field}", path, f"should be a json path under {start.rstrip('.')}")


def _column_causes(column: JsonObject, at: str) -> Iterator[Cause]:
    if not column.get("name"):
        yield required(f"{at}.name")
    kind, path = column.get("type") or "", column.get("jsonPath") or ""
    if not kind:
        yield required(f"{at}.type", f"must be one of {','.join(_COLUMN_TYPES)}")
    elif kind not in _COLUMN_TYPES:
        yield invalid(f"{at}.type", kind, f"must be one of {','.join(_COLUMN_TYPES)}")
    if not path:
        yield required(f"{at}.JSONPath")
    elif not path.startswith("."):
        yield invalid(f"{at}.JSONPath", path, _SIMPLE_PATH)


def _changed_names(spec: JsonObject, old: JsonObject) -> Iterator[Cause]:
    """What objects are found by stays; their kind and scope once somebody may have made some."""
    fixed: tuple[tuple[str, ...], ...] = (("group",), ("names", "plural"))
    for path in (("scope",), ("names", "kind"), *fixed) if is_established(old) else fixed:
        new, before = (reduce(lambda node, key: node[key], path, tree) for tree in (spec, old["spec"]))
        if new != before:
            yield invalid(f"spec.{'.'.join(path)}", new, "field is immutable")
