"""What can go wrong with one dashboard, as data.

Each fault meets calls whose method and path match, so many times or for ever; the first that matches counts.
"""

from typing import TypeAlias

from msgspec import Struct

FOREVER = -1


class Meets(Struct, frozen=True, kw_only=True):
    """Which calls: of this method, with this in their path; empty: any."""

    method: str = ""
    path: str = ""
    times: int = FOREVER

    def is_met_by(self, method: str, path: str) -> bool:
        return (not self.method or self.method == method) and self.path in path


class Hang(Meets, frozen=True):
    """No answer, ever; it may have been carried out."""

    carried_out: bool = False


class Answer(Meets, frozen=True):
    """This instead of Ray's answer: a 5xx, a 404, a redirect, a page that is no JSON."""

    status: int = 500
    body: bytes = b"Internal Server Error"
    carried_out: bool = False


class Stale(Meets, frozen=True):
    """Reads are answered as of so many seconds ago."""

    seconds: float = 5.0


class Forget(Meets, frozen=True):
    """A submission or a configuration is accepted and answered, and then all is as it was before."""


class SlowBody(Meets, frozen=True):
    """Carried out at once; the answer takes so long."""

    seconds: float = 1.0


RayFault: TypeAlias = Hang | Answer | Stale | Forget | SlowBody
