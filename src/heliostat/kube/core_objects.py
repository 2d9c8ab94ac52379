"""Checking a document of a built-in kind against the table of core schemas. Kinds of other groups are not judged."""

from collections.abc import Iterator

from heliostat.kube.core_schema import definition, find_kind, kinds
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.nearest import nearest_name
from heliostat.kube.problems import Problem
from heliostat.kube.schema import check


def core_problems(tree: JsonObject) -> Iterator[Problem]:
    api_version, kind = tree.get("apiVersion"), tree.get("kind")
    for field in ("apiVersion", "kind"):
        if not isinstance(tree.get(field), str) or not tree[field]:
            yield Problem(path=(field,), problem="is required", fix=f"write {field}: …", rule="document.version")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return
    found = find_kind(api_version, kind)
    if found is not None:
        yield from check(tree, {"$ref": found.definition}, (), definition)
    elif any(api_version == known.api_version for known in kinds()):
        near = nearest_name(kind, [known.kind for known in kinds() if known.api_version == api_version])
        fix = f"did you mean {near}?" if near else f"see the kinds that {api_version} has"
        yield Problem(path=("kind",), problem=f"{api_version} has no kind {kind}", fix=fix, rule="document.version")
