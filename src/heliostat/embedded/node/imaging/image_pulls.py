"""The images that are being made for Pods: who waits for which, how far it is, and when it is tried again.

Every environment is built once, however many Pods ask for it, and beside the loop. What Pods wait for, and what they
show meanwhile, is decided in ``image_waits``.
"""

import asyncio
import time
from collections.abc import Callable, Collection

from msgspec import Struct

from heliostat.embedded.node import node_events
from heliostat.embedded.node.imaging.image_builder import BuildError, build_python_environment
from heliostat.embedded.node.imaging.image_environments import BuildOrder, is_built, plan_build
from heliostat.embedded.node.imaging.image_waits import Absent, Present, PullFailed, Pulling, PullState
from heliostat.embedded.node.imaging.images import Image, UnknownImageError
from heliostat.kube.backoff import Backoff
from heliostat.kube.plan import Event

PULL_BACKOFF = Backoff(first=10.0, factor=2.0, limit=300.0)
_TELL_SECONDS = 1.0


class _Attempt(Struct):
    """What is known about one environment."""

    waiting: set[tuple[str, str]] = set()  # the UIDs of Pods, and their names for the image
    progress: str = ""
    told: str = ""
    task: asyncio.Task[None] | None = None
    failures: int = 0
    why: str = ""
    again_at: float = 0.0


class ImagePulls:
    """``tell`` gives an event to a Pod, by its UID, and has it looked at."""

    def __init__(
        self, table: tuple[Image, ...], on_change: Callable[[str], None], tell: Callable[[str, Event], None]
    ) -> None:
        self._table = table
        self._on_change = on_change
        self._tell = tell
        self._attempts: dict[str, _Attempt] = {}  # by the place
        self._took: dict[tuple[str, str], float] = {}  # seconds, by Pod and image, until it is told

    def state(self, name: str, uid: str) -> PullState:
        """Absent also for a Pod that does not wait yet for what others wait for."""
        order = self._plan(name)
        if order is None or (str(order.place) not in self._attempts and is_built(order)):
            return Present()
        attempt = self._attempts.get(str(order.place))
        if attempt is None or (attempt.task is not None and (uid, name) not in attempt.waiting):
            return Absent()
        if attempt.task is not None:
            return Pulling(f"{order.title}: {attempt.progress}")
        return PullFailed(attempt.why, attempt.again_at)

    def pull(self, name: str, uid: str) -> None:
        """Begin, unless somebody has; the Pod hears of it."""
        order = self._plan(name)
        if order is None:
            return
        self._tell(uid, node_events.pulling(name))
        attempt = self._attempts.setdefault(str(order.place), _Attempt())
        attempt.waiting.add((uid, name))
        if attempt.task is None:
            attempt.progress = "begins"
            attempt.task = asyncio.create_task(self._work(order, attempt), name=f"build {order.place.name}")

    def pulled(self, name: str, uid: str) -> Event:
        """For a container that is about to start."""
        seconds = self._took.pop((uid, name), None)
        return node_events.pulled(name) if seconds is None else node_events.pulled_now(name, seconds)

    def keep_only(self, uids: Collection[str]) -> None:
        """All other Pods are gone; what is built for them is finished, for the next."""
        self._took = {key: seconds for key, seconds in self._took.items() if key[0] in uids}
        for attempt in self._attempts.values():
            attempt.waiting = {each for each in attempt.waiting if each[0] in uids}

    async def close(self) -> None:
        tasks = [attempt.task for attempt in self._attempts.values() if attempt.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _plan(self, name: str) -> BuildOrder | None:
        try:
            return plan_build(name, self._table)
        except UnknownImageError:
            return None  # its start says so

    async def _work(self, order: BuildOrder, attempt: _Attempt) -> None:
        begun = time.monotonic()
        showing = asyncio.create_task(self._show(attempt))
        try:
            await build_python_environment(order, lambda line: setattr(attempt, "progress", line))
        except (BuildError, OSError, ValueError) as error:
            self._note_failure(attempt, str(error))
        else:
            del self._attempts[str(order.place)]
            self._took |= dict.fromkeys(attempt.waiting, time.monotonic() - begun)
        finally:
            attempt.task = None
            showing.cancel()
        self._changed(attempt)

    def _note_failure(self, attempt: _Attempt, why: str) -> None:
        attempt.why = why
        attempt.again_at = time.time() + PULL_BACKOFF.delay(attempt.failures)
        attempt.failures += 1
        for uid, name in attempt.waiting:
            self._tell(uid, node_events.not_pulled(f'"{name}": {why}'))

    async def _show(self, attempt: _Attempt) -> None:
        """Not every line: a status is written for each."""
        while True:
            if attempt.progress != attempt.told:
                attempt.told = attempt.progress
                self._changed(attempt)
            await asyncio.sleep(_TELL_SECONDS)

    def _changed(self, attempt: _Attempt) -> None:
        for uid, _name in attempt.waiting:
            self._on_change(uid)
