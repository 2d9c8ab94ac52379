"""The table of phases as a page: a diagram and all rows in words. What the page says is what the operator does."""

from collections.abc import Iterator

from heliostat.plan.rayjob.phases import BOUNDS, TABLE, TERMINAL, Phase, Reason, Row


def describe_phases() -> Iterator[str]:
    """Lines of Markdown."""
    yield from (
        "# The phases of a RayJob",
        "",
        "`status.jobDeploymentStatus`; of a phase's rows the first that fits counts.",
    )
    yield from ("", "```mermaid", "stateDiagram-v2", *_diagram(), "```", "")
    yield from ("| in phase | when | next | reason |", "|---|---|---|---|")
    yield from (_row(row) for row in TABLE)
    yield from (
        "",
        "Failed becomes Retrying while `spec.backoffLimit` allows it and neither a deadline nor silence was why.",
        "From New, Initializing, Waiting, Running and Suspended a spec that is refused leads to ValidationFailed.",
        "",
        "| phase | how long at most |",
        "|---|---|",
    )
    yield from (f"| {_name(phase)} | {words} |" for phase, words in BOUNDS.items())


def _diagram() -> Iterator[str]:
    yield f"    [*] --> {_name(Phase.NEW)}"
    for at, to in dict.fromkeys((row.at, row.to) for row in TABLE):
        yield f"    {_name(at)} --> {_name(to)}"
    yield f"    {_name(Phase.RUNNING)} --> {_name(Phase.RETRYING)}"
    yield from (f"    {_name(phase)} --> [*]" for phase in Phase if phase in TERMINAL)


def _row(row: Row) -> str:
    when = " and ".join(test.value for test in row.when) or "always"
    reason = f"`{row.reason}`" if row.reason is not Reason.NONE else ""
    done = "; ".join(deed.value for deed in row.do)
    return f"| {_name(row.at)} | {when} | {_name(row.to)}{f' ({done})' if done else ''} | {reason} |"


def _name(phase: Phase) -> str:
    return phase or "New"
