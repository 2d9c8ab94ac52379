"""What a custom resource is warned of about finalizers that it did not have before: names that others may use too."""

from collections.abc import Iterator

from heliostat.embedded.kinds.object_metadata import STANDARD_FINALIZERS
from heliostat.embedded.kinds.rules.name_rules import label_key_problems
from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject

_ADVICE = "prefer a domain-qualified finalizer name{} to avoid accidental conflicts with other finalizer writers"


def finalizer_cautions(tree: JsonObject, old: JsonObject | None = None) -> Iterator[str]:
    for name in sorted(_finalizers(tree) - (_finalizers(old) if old is not None else set())):
        problems = list(label_key_problems(name))
        if "/" not in name and name not in STANDARD_FINALIZERS:
            problems.append(_ADVICE.format(" including a path (/)" if "." in name else ""))
        yield from (f"metadata.finalizers: {go_quote(name)}: {problem}" for problem in problems)


def _finalizers(tree: JsonObject) -> set[str]:
    return {*(tree["metadata"].get("finalizers") or ())}
