"""A plan as a table that a person understands: what is written, to which object, and why; what is waited for.

Plain text, no colours, one line for each row; texts of many lines are joined. Whoever prints it decides where.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from heliostat.kube.plan import Action, Create, Delete, Effect, Patch, Plan, Random, Replace, WriteStatus
from heliostat.plan.because import Hold
from heliostat.plan.reasons import sentence_of

NOTHING_TO_DO = "nothing to do"


def format_plan(plan: Plan) -> str:
    """Ends without a newline."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    rows = [describe_action(action) for action in plan.actions()]
    yield from _columns(("ACTION", "OBJECT", "WHY"), rows) if rows else [NOTHING_TO_DO]
    if plan.waits:
        yield ""
        yield "WAITS"
        for wait in plan.waits:
            yield f"{wait.reason}: {_one_line(wait.message)}"
            yield f"  {'fix:' if wait.reason == Hold.REFUSED else 'until'} {_one_line(wait.until)}"
    if plan.events:
        yield ""
        yield from _columns(("EVENT", "REASON", "NOTE"), [(e.type, e.reason, e.note) for e in plan.events])
    if plan.wake_after is not None:
        yield ""
        yield f"looks again in {plan.wake_after:.3g} s, or as soon as something changes"


def describe_action(action: Action) -> tuple[str, str, str]:
    """What is done, to which object, and why."""
    why = sentence_of(action.because)
    match action:
        case Create():
            return "create", str(action.ref), why
        case Patch():
            return "patch", str(action.ref), f"{why} ({', '.join(changed_fields(action.changes))})"
        case Replace():
            return "replace", str(action.ref), why
        case Delete():
            return "delete", str(action.ref), f"{why}: {action.detail}" if action.detail else why
        case WriteStatus():
            return "status", str(action.ref), why
        case Effect():
            return "call", action.kind, why


def changed_fields(changes: dict[str, object], at: str = "") -> list[str]:
    """The paths that a merge patch touches; keys with a dot or a slash stand in brackets."""
    paths: list[str] = []
    for key, value in changes.items():
        path = f"{at}[{key}]" if "." in key or "/" in key else f"{at}.{key}".lstrip(".")
        paths += changed_fields(value, path) if isinstance(value, dict) and value else [path]
    return paths


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    table = [header, *([_one_line(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header) - 1)]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()


def _one_line(text: str) -> str:
    return " ".join(text.split())


def describe_random(tree: Any) -> Any:
    """The tree with a sentence in place of each secret that is drawn only at creation."""
    if isinstance(tree, Random):
        return f"<{tree.bytes} random bytes in base64, drawn at creation>"
    if isinstance(tree, dict):
        return {key: describe_random(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [describe_random(value) for value in tree]
    return tree
