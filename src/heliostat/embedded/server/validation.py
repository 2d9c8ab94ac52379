"""Does an object fit its kind: the schema's verdict in kube-apiserver's form.

Custom resources are judged by their structural schema, with every problem as a cause of one 422. A built-in object
of the wrong shape cannot even be decoded by a typed server, which is one 400; then the rules of its kind judge it.
Fields that the schema does not know are dropped, with a warning or a refusal if the request asks for it
(fieldValidation).
"""

from typing import Any

from heliostat.embedded.kinds.judging import changed_object_causes, new_object_causes
from heliostat.embedded.kinds.registry import rules_of
from heliostat.embedded.kinds.typed_form import TypedError, fit_type, has_readable_metadata
from heliostat.embedded.server.errors import RefusedError, bad_request, invalid
from heliostat.embedded.server.events_conversion import to_stored
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.schema_causes import NOT_CHECKED, schema_causes, stops_rules
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem
from heliostat.kube.schema import apply_defaults, check, prune

STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"

_UNKNOWN = "schema.unknown-field"


def fit_to_kind(tree: JsonObject, resource: Resource, field_validation: str, warned: list[str]) -> None:
    """Defaults in, unknown fields out, in place. Adds warnings; raises what makes the object unacceptable."""
    if resource.definition:
        _fit_builtin(tree, resource, field_validation, warned)
        return
    apply_defaults(tree, resource.schema, resource.definitions)
    problems = list(check(tree, resource.schema, (), resource.definitions))
    unknown = [problem for problem in problems if problem.rule == _UNKNOWN]
    errors = [problem for problem in problems if problem.severity == "error"]
    if unknown:
        warned += _judge_unknown(unknown, resource, field_validation)
        if not resource.preserves_unknown:
            prune(tree, resource.schema, resource.definitions)
    if errors:
        raise _refuse_custom(tree, resource, errors)


def _fit_builtin(tree: JsonObject, resource: Resource, field_validation: str, warned: list[str]) -> None:
    """As a typed server reads it. A kind without rules of its own is at least asked for what its schema requires."""
    rules = rules_of(resource.storage_name)
    missing = [] if rules.check_new is not None else _missing_fields(tree, resource)
    unknown = read_types(tree, resource)
    texts = tuple(f'unknown field "{path}"' for path in unknown)
    if texts and field_validation == STRICT:
        raise bad_request(f"{_not_handled(resource)}: strict decoding error: {', '.join(texts)}")
    if field_validation != IGNORE:
        warned += texts
    missing = [problem for problem in missing if _is_empty_text(tree, problem.path)]
    if missing:
        causes = schema_causes(missing, tree, resource.schema, resource.definitions)
        raise invalid(resource.kind, resource.group, str(tree["metadata"].get("name", "")), causes)
    if rules.fill_in is not None:
        rules.fill_in(tree)
    to_stored(tree, resource)


def check_readable(tree: JsonObject, resource: Resource) -> None:
    """Before anybody looks into the metadata of a built-in object: a typed server reads all of it first."""
    if resource.definition and not has_readable_metadata(tree):
        read_types(tree, resource)


def read_types(tree: JsonObject, resource: Resource) -> list[str]:
    """The paths of unknown fields of a built-in object; refuses what a typed server cannot decode."""
    try:
        return fit_type(tree, resource.definition)
    except TypedError as error:
        raise bad_request(f"{_not_handled(resource)}: {error}") from None


def _not_handled(resource: Resource) -> str:
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'


def _missing_fields(tree: JsonObject, resource: Resource) -> list[Problem]:
    problems = check(tree, resource.schema, (), resource.definitions)
    return [problem for problem in problems if problem.rule == "schema.required"]


def _is_empty_text(tree: JsonObject, path: Path) -> bool:
    """Where a text is missing; a typed server reads missing lists and objects as empty ones."""
    value: Any = tree
    for key in path:
        value = value[key]
    return bool(value == "")


def _judge_unknown(unknown: list[Problem], resource: Resource, field_validation: str) -> tuple[str, ...]:
    texts = tuple(f'unknown field "{_plain_path(problem.path)}"' for problem in unknown)
    if field_validation == STRICT:
        raise bad_request(f"{_not_handled(resource)}: strict decoding error: {', '.join(texts)}")
    return texts if field_validation != IGNORE else ()


def _refuse_custom(tree: JsonObject, resource: Resource, errors: list[Problem]) -> RefusedError:
    """All that is wrong with it at once, the CEL rules too where the object is sound enough to look at them."""
    causes = schema_causes(errors, tree, resource.schema, resource.definitions)
    if resource.rules is not None and resource.rules.compiled.root is not None:
        causes += [NOT_CHECKED] if stops_rules(errors) else resource.rules.object_causes(tree, None)
    return invalid(resource.kind, resource.group, str(tree["metadata"].get("name", "")), causes)


def _plain_path(path: Path) -> str:
    """As kube-apiserver names unknown fields: whatever a key holds, it stands behind a dot."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def check_object(tree: JsonObject, old: JsonObject | None, resource: Resource, subresource: str = "") -> None:
    """Metadata and what the kind itself says, all of it in one refusal."""
    names = (resource.storage_name, resource.group)
    if old is None:
        causes = list(new_object_causes(tree, *names, is_custom=resource.is_custom))
    else:
        causes = list(changed_object_causes(tree, old, *names, subresource=subresource, is_custom=resource.is_custom))
    if resource.rules is not None:
        causes += resource.rules.object_causes(tree, old)
    if causes:
        group = "" if resource.storage_name == "events" else resource.group  # refused as what they are kept as
        raise invalid(resource.kind, group, str(tree["metadata"].get("name") or ""), causes)
