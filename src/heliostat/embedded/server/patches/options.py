"""The query parameters that are about field ownership: ``fieldManager`` and ``force``.

Rules: an apply needs a field manager and may be forced, no other patch may. A manager's name is at most 128 bytes of
printable characters; without one, a write belongs to the part of the user agent before its first slash.
"""

from heliostat.embedded.refusals import Cause, required_value
from heliostat.embedded.server.patches.patch_types import APPLY_PATCH
from heliostat.kube.go_text import go_quote

MAX_MANAGER_BYTES = 128


def patch_option_causes(patch_type: str, *, manager: str, force: bool | None) -> list[Cause]:
    """What is wrong with the options of a patch; ``force`` is None if it was not given."""
    causes = []
    if patch_type == APPLY_PATCH and not manager:
        causes.append(required_value("fieldManager", "is required for apply patch"))
    if patch_type != APPLY_PATCH and force is not None:
        causes.append(Cause("FieldValueForbidden", "Forbidden: may not be specified for non-apply patch", "force"))
    return causes + manager_causes(manager)


def manager_causes(manager: str) -> list[Cause]:
    """What is wrong with a manager's name, in any request."""
    causes = []
    if len(manager.encode()) > MAX_MANAGER_BYTES:
        problem = f"Too long: may not be more than {MAX_MANAGER_BYTES} bytes"
        causes.append(Cause("FieldValueTooLong", problem, "fieldManager"))
    for index, character in enumerate(manager):
        if not character.isprintable():
            position = len(manager[:index].encode())
            problem = f"invalid character U+{ord(character):04X} (at position {position})"
            causes.append(Cause("FieldValueInvalid", f"Invalid value: {go_quote(manager)}: {problem}", "fieldManager"))
    return causes


def manager_of_request(manager: str, user_agent: str) -> str:
    """Whom a write belongs to."""
    if manager:
        return manager
    name = ""
    for character in user_agent.partition("/")[0]:
        if len((name + character).encode()) > MAX_MANAGER_BYTES:
            break
        name += character if character.isprintable() else ""
    return name
