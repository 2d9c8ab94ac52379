"""Persist before use: a name or an id is written into the status in one pass and used in a later one.

A process can die between any two calls. Whatever was made under a name that no status holds is lost to the next
process: it would draw another name and do the work twice. So a plan that needs a new name (a job id, the name of a
child, an attempt) does nothing but write it down, and says so with ``WriteStatus.introduces``; when the view shows it,
and only then, plans may use it.

The view is what makes it safe: the loop plans again only when its caches have seen our own status write. A plan that
names in its actions what its own status introduces is refused by the executor (``find_premature_use``).
"""

import msgspec

from heliostat.kube.plan import Action, Plan


class PrematureUseError(Exception):
    """A bug: an action uses a name that only the status write of the same plan would make known."""


def find_premature_use(plan: Plan) -> tuple[str, Action] | None:
    """The first action that mentions what the plan's own status introduces, and what it mentions."""
    introduced = plan.status.introduces if plan.status is not None else ()
    if not introduced:
        return None
    for stage in plan.stages:
        for action in stage.actions:
            text = msgspec.json.encode(action)
            for name in introduced:
                if msgspec.json.encode(name)[1:-1] in text:
                    return name, action
    return None
