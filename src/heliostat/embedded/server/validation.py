"""Does an object fit its kind: the schema's verdict in kube-apiserver's form.

Custom resources are judged by their structural schema, with every problem as a cause of one 422. A built-in object
of the wrong shape cannot even be decoded by a typed server, which is one 400; then the rules of its kind judge it.
Fields that the schema does not know are dropped, with a warning or a refusal if the request asks for it
(fieldValidation).
"""

from collections.abc import Sequence

from heliostat.embedded.kinds.judging import changed_object_causes, new_object_causes
from heliostat.embedded.kinds.registry import rules_of
from heliostat.embedded.kinds.typed_form import TypedError, fit_type
from heliostat.embedded.server.errors import Cause, RefusedError, bad_request, invalid
from heliostat.embedded.server.events_conversion import to_stored
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.paths import format_path
from heliostat.kube.problems import Problem
from heliostat.kube.schema import apply_defaults, check, prune

STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"

_REASONS = {
    "schema.required": "FieldValueRequired",
    "schema.enum": "FieldValueNotSupported",
    "schema.duplicate": "FieldValueDuplicate",
    "schema.type": "FieldValueTypeInvalid",
}
_UNKNOWN = "schema.unknown-field"


def fit_to_kind(tree: JsonObject, resource: Resource, field_validation: str) -> tuple[str, ...]:
    """Defaults in, unknown fields out, in place. Gives warnings; raises what makes the object unacceptable."""
    if resource.definition:
        return _fit_builtin(tree, resource, field_validation)
    apply_defaults(tree, resource.schema, resource.definitions)
    problems = list(check(tree, resource.schema, (), resource.definitions))
    unknown = [problem for problem in problems if problem.rule == _UNKNOWN]
    errors = [problem for problem in problems if problem.severity == "error"]
    warnings: tuple[str, ...] = ()
    if unknown:
        warnings = _judge_unknown(unknown, field_validation)
        if not resource.preserves_unknown:
            prune(tree, resource.schema, resource.definitions)
    if errors:
        raise _refuse(tree, resource, errors)
    return warnings


def _fit_builtin(tree: JsonObject, resource: Resource, field_validation: str) -> tuple[str, ...]:
    """As a typed server reads it. A kind without rules of its own is at least asked for what its schema requires."""
    rules = rules_of(resource.storage_name)
    missing = [] if rules.check_new is not None else _missing_fields(tree, resource)
    try:
        unknown = fit_type(tree, resource.definition)
    except TypedError as error:
        raise bad_request(f"{_not_handled(resource)}: {error}") from None
    texts = tuple(f'unknown field "{path}"' for path in unknown)
    if texts and field_validation == STRICT:
        raise bad_request(f"{_not_handled(resource)}: strict decoding error: {', '.join(texts)}")
    if missing:
        raise invalid(resource.kind, resource.group, tree["metadata"].get("name", ""), causes_of(missing))
    if rules.fill_in is not None:
        rules.fill_in(tree)
    to_stored(tree, resource)
    return texts if field_validation != IGNORE else ()


def _not_handled(resource: Resource) -> str:
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'


def _missing_fields(tree: JsonObject, resource: Resource) -> list[Problem]:
    problems = check(tree, resource.schema, (), resource.definitions)
    return [problem for problem in problems if problem.rule == "schema.required"]


def _judge_unknown(unknown: list[Problem], field_validation: str) -> tuple[str, ...]:
    texts = tuple(f'unknown field "{format_path(problem.path)}"' for problem in unknown)
    if field_validation == STRICT:
        raise bad_request(f"strict decoding error: {', '.join(texts)}")
    return texts if field_validation != IGNORE else ()


def _refuse(tree: JsonObject, resource: Resource, errors: list[Problem]) -> RefusedError:
    return invalid(resource.kind, resource.group, tree["metadata"].get("name", ""), causes_of(errors))


def causes_of(problems: Sequence[Problem]) -> list[Cause]:
    return [_cause(problem) for problem in problems]


def _cause(problem: Problem) -> Cause:
    field = format_path(problem.path)
    if problem.rule == "schema.required":
        return Cause("FieldValueRequired", "Required value", field)
    return Cause(_REASONS.get(problem.rule, "FieldValueInvalid"), f"Invalid value: {field}: {problem.problem}", field)


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
