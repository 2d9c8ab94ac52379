"""Fields that an apply would take away from somebody else, and how the refusal lists them."""

from typing import TypeAlias

from heliostat.embedded.refusals import Cause
from heliostat.embedded.server.patches.apply.elements import ElementPath, show_path
from heliostat.embedded.server.patches.apply.owners import UPDATE, Owner
from heliostat.embedded.server.patches.errors import ApplyConflictError
from heliostat.kube.go_text import go_quote

Conflict: TypeAlias = tuple[Owner, ElementPath]


class ConflictsError(Exception):
    """An apply without force met fields of others, by owner and then by path."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = conflicts


def conflict_refusal(conflicts: list[Conflict]) -> ApplyConflictError:
    causes = [
        Cause("FieldManagerConflict", f"conflict with {_show(owner)}", show_path(path)) for owner, path in conflicts
    ]
    if len(conflicts) == 1:
        message = f"1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        message = f"{len(conflicts)} conflicts: {_list_by_owner(conflicts)}"
    return ApplyConflictError(f"Apply failed with {message}", causes)


def _list_by_owner(conflicts: list[Conflict]) -> str:
    lines = []
    for owner in dict.fromkeys(owner for owner, _ in conflicts):
        lines.append(f"conflicts with {_show(owner)}:")
        lines += [f"- {show_path(path)}" for other, path in conflicts if other == owner]
    return "\n".join(lines)


def _show(owner: Owner) -> str:
    text = go_quote(owner.manager)
    if owner.subresource:
        text += f" with subresource {go_quote(owner.subresource)}"
    return f"{text} using {owner.api_version}" if owner.operation == UPDATE else text
