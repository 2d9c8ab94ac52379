"""What every Kubernetes API server asks of an object's ``metadata``, beyond the types of its fields.

Rules: a name (or a prefix to make one from), names and label keys and values of the right form. The limits that KubeRay
puts on names are ``heliostat.api.validation``'s.
"""

import re
from collections.abc import Iterator

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.names import (
    dns1123_label_problems,
    dns1123_subdomain_problems,
    label_key_problems,
    label_value_problems,
)
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem
from heliostat.kube.schema_values import quote

_EXPRESSION = re.compile(r",? regex used for validation is '.*?'(?=\))")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]+")
_LONGEST_LABEL = 63
NAME_STAND_IN = "xxxxx"  # as long as the random part of a generated name


def metadata_problems(metadata: JsonObject) -> Iterator[Problem]:
    """For a ``metadata`` whose fields have the right types."""
    name = metadata.get("name") or _stand_in_name(metadata)
    if not name:
        yield _problem(("name",), "is required", "add metadata.name", rule="metadata.required")
    for problem in dns1123_subdomain_problems(name) if name else []:
        yield _problem(("name",), f"{quote(name)} is not a valid name: {_plain(problem)}", _rename("it", name))
    for problem in dns1123_label_problems(metadata["namespace"]) if metadata.get("namespace") else []:
        fix = _rename("it", metadata["namespace"])
        yield _problem(("namespace",), f"is not a valid namespace: {_plain(problem)}", fix)
    yield from _label_problems(metadata)
    for key in metadata.get("annotations", ()):
        for problem in label_key_problems(key.lower()):
            yield _problem(
                ("annotations", key), f"{quote(key)} is not a valid key: {_plain(problem)}", "rename the annotation"
            )


def _label_problems(metadata: JsonObject) -> Iterator[Problem]:
    for key, value in metadata.get("labels", {}).items():
        for problem in label_key_problems(key):
            yield _problem(("labels", key), f"{quote(key)} is not a valid key: {_plain(problem)}", "rename the label")
        for problem in label_value_problems(value):
            yield _problem(
                ("labels", key), f"{quote(value)} is not a valid label: {_plain(problem)}", "change the label's value"
            )


def _plain(problem: str) -> str:
    """Kubernetes' sentence without its regular expression, which says the same once more."""
    return _EXPRESSION.sub("", problem)


def _rename(what: str, name: str) -> str:
    """With a name of the right form that is near the one given, where there is one."""
    near = _NOT_IN_NAMES.sub("-", name.lower()).strip("-.")[:_LONGEST_LABEL].rstrip("-.")
    return f"rename {what}, such as {near}" if near else f"rename {what}"


def fill_in_name(metadata: JsonObject) -> None:
    """Give an object that asks for a generated name one of the right length, as the API server would at random."""
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = _stand_in_name(metadata)


def _stand_in_name(metadata: JsonObject) -> str:
    prefix: str = metadata.get("generateName") or ""
    return prefix and prefix + NAME_STAND_IN


def _problem(path: Path, problem: str, fix: str, rule: str = "metadata.name") -> Problem:
    return Problem(path=("metadata", *path), problem=problem, fix=fix, rule=rule)
