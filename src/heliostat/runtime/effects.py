"""Effects: calls to what is not Kubernetes (Ray, a local node), with what writes have.

Rules: the fence is asked before an effect is sent, and so is whether the facts it was decided on are still known (the
counterpart of a resourceVersion); it has a deadline; whoever carries it out answers in the error tree of ``errors.py``.
Once it may have been carried out, the facts that it touches are unknown until a fetch that began afterwards has
answered, and after a call without an answer that fetch begins no earlier than the call's deadline. So a doubt is
settled by a fresh read, nobody waits for it, and nothing is decided on a fact older than our last effect.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

from heliostat.kube.facts import Fact, FactKey, Unknown
from heliostat.kube.plan import Effect
from heliostat.runtime.client import Fence
from heliostat.runtime.errors import AmbiguousError, FencedError, RefusedError, UnavailableError

CarryOut: TypeAlias = Callable[[Effect], Awaitable[None]]

DOUBTED_SECONDS = 5.0  # how long an effect without a deadline of its own may still land when it ended without an answer


class Facts(Protocol):
    """A ``FactCache``."""

    def get(self, key: FactKey, /) -> Fact[Any] | Unknown: ...

    def refresh(self, key: FactKey, /, at: float | None = None) -> None: ...


class Effects:
    """What carries out the effects of plans, by their kind: ``effects[kind] = carry_out``."""

    def __init__(self, fence: Fence | None = None) -> None:
        self.facts: Facts | None = None  # those that effects are decided on and touch
        self._fence = fence
        self._carriers: dict[str, CarryOut] = {}

    def __setitem__(self, kind: str, carry_out: CarryOut) -> None:
        self._carriers[kind] = carry_out

    async def carry_out(self, effect: Effect) -> None:
        """Raises what the carrier raises, and AmbiguousError when its deadline is over."""
        carrier = self._carriers[effect.kind]
        self._check_facts(effect)
        if self._fence is not None:
            self._fence.check()
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            await _within_deadline(carrier, effect)
        except (FencedError, UnavailableError):
            raise  # not sent: the facts are as they were
        except RefusedError:
            self._outdate(effect)  # we believed that it would be taken: what is known may be old
            raise
        except BaseException as error:  # cancelled, too: it may have been carried out, and may yet be
            self._outdate(effect, _last_landing(effect, error, begun, clock()))
            raise
        self._outdate(effect)

    def _check_facts(self, effect: Effect) -> None:
        for key in effect.decided_on:
            known = self.facts.get(key) if self.facts is not None else Unknown("nobody fetches facts")
            if isinstance(known, Unknown):
                raise UnavailableError(f"{effect.kind}: not sent, {key} is not known any more: {known.why}")

    def _outdate(self, effect: Effect, at: float | None = None) -> None:
        if self.facts is not None:
            for key in effect.touches:
                self.facts.refresh(key, at)


async def _within_deadline(carrier: CarryOut, effect: Effect) -> None:
    if effect.seconds is None:
        await carrier(effect)
        return
    try:
        async with asyncio.timeout(effect.seconds) as deadline:
            await carrier(effect)
    except TimeoutError:
        if not deadline.expired():
            raise
        raise AmbiguousError(f"{effect.kind}: no answer within {effect.seconds:g} s") from None


def _last_landing(effect: Effect, error: BaseException, begun: float, now: float) -> float:
    """Until when, on the loop's clock, what was sent may still be carried out."""
    told = error.lands_before if isinstance(error, AmbiguousError) else 0.0
    return max(told, begun + (effect.seconds if effect.seconds is not None else DOUBTED_SECONDS), now)
