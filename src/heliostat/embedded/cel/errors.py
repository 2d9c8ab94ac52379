"""What can be wrong with a CEL rule: its text, its evaluation, or its price.

Every failure of this package is a ``CelError``. Texts follow the API server's, because people search for them.
"""

from collections.abc import Sequence

from msgspec import Struct


class CelError(Exception):
    """Anything wrong with a rule."""


class Issue(Struct, frozen=True):
    """One finding about a rule's text, at an offset into it; about the text as a whole when negative."""

    position: int
    message: str


class CompileError(CelError):
    """The text is not a valid expression; ``issues`` say where and why."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        self.issues = tuple(issues)
        super().__init__("\n".join(_render(source, issue) for issue in issues))


class EvaluationError(CelError):
    """The expression has no value for this data: a missing key, an index out of bounds, an overflow."""


class NoSuchOverloadError(EvaluationError):
    """A function was called with values it is not defined for; only data without a fixed type can cause it."""

    def __init__(self) -> None:
        super().__init__("no such overload")


class CostExceededError(CelError):
    """The evaluation was stopped because it did more work than a rule may."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def _render(source: str, issue: Issue) -> str:
    """The finding with its line of the source and a mark below the place."""
    if issue.position < 0:
        return f"ERROR: <input>:-1:0: {issue.message}"
    if not source:
        return f"ERROR: <input>:1:0: {issue.message}"
    start = source.rfind("\n", 0, issue.position) + 1
    line = source[start:].split("\n", 1)[0]
    column = issue.position - start
    lead = "".join("." if character.isascii() else "．" for character in line[:column])
    mark = "^" if line[column : column + 1].isascii() else "＾"
    number = source.count("\n", 0, start) + 1
    return f"ERROR: <input>:{number}:{column + 1}: {issue.message}\n | {line}\n | {lead}{mark}"
