"""A place for one object among those that a spec asks for: the object, nothing, or why it cannot be built."""

from typing import TypeAlias

from msgspec import Struct

from heliostat.api.markers import JsonObject


class Impossible(Struct, frozen=True):
    """This object cannot be built from this spec; the message is the error KubeRay's reconcile would return."""

    message: str


Slot: TypeAlias = JsonObject | Impossible | None
