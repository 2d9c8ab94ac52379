"""Planted bugs: each breaks one rule that the loop lives by, and each must be found by the simulator itself."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from msgspec import Struct, structs

from heliostat.embedded.controllers.garbage import decision as garbage
from heliostat.embedded.controllers.garbage.graph import Graph
from heliostat.kube.plan import Plan
from heliostat.runtime.cache import CacheWriter
from heliostat.runtime.errors import ApiError
from heliostat.runtime.executor import Executor
from heliostat.runtime.freshness import Freshness
from heliostat.runtime.host import Host
from heliostat.runtime.queue import WorkQueue
from heliostat.runtime.reflector import Reflector
from heliostat.runtime.transport import Call
from heliostat.runtime.watch import OpenWatch, State, WatchMachine
from heliostat.runtime.writing import Writing


class Mutant(Struct, frozen=True):
    """``case`` is where it must show; the search begins at seed ``since``, near where it was last found."""

    name: str
    case: str
    plant: Callable[[], Any]  # a context manager
    found_by: tuple[str, ...]  # ids or names of the invariants that it breaks: what breaks others is not this bug
    since: int = 0


@contextmanager
def replaced(*bugs: tuple[Any, str, Any]) -> Iterator[None]:
    """Each is an owner, the name of what is replaced there, and by what."""
    with ExitStack() as stack:
        for owner, name, bug in bugs:
            stack.enter_context(patch.object(owner, name, bug))
        yield


def skip_freshness() -> Any:
    """Decide from whatever the cache shows."""
    return replaced((Freshness, "missing", lambda _self, _subject: None))


def forget_creates() -> Any:
    """Wait for deletes, but not for what was created."""
    return replaced((Freshness, "wrote", lambda *_arguments: None))


def forget_deletes() -> Any:
    return replaced((Freshness, "deleted", lambda *_arguments: None))


def a_failed_list_is_empty() -> Any:
    """An error while listing is taken for "there is nothing"."""

    async def run(self: Reflector[Any], original: Callable[..., Awaitable[None]] = Reflector._step) -> None:
        try:
            await original(self)
        except ApiError:
            if self._machine.state is not State.WATCHING:
                self._machine._collected = []
                self._apply(self._machine._complete(max(1, self._machine.revision)))
            raise

    return replaced((Reflector, "_step", run))


def lose_the_last_event_of_a_watch() -> Any:
    """At a cut the last line counts as seen and is thrown away."""

    def event(
        self: WatchMachine[Any],
        kind: str,
        item: Any,
        revision: int,
        original: Callable[..., Any] = WatchMachine.event,
    ) -> Any:
        change = original(self, kind, item, revision)
        self.held, held = change, getattr(self, "held", None)  # type: ignore[attr-defined]
        return held

    return replaced((WatchMachine, "event", event))


def begin_a_watch_at_the_newest() -> Any:
    """After a cut, watch from now on instead of from the last event."""

    def next_command(self: WatchMachine[Any], original: Callable[..., Any] = WatchMachine.next) -> Any:
        command = original(self)
        return OpenWatch(0) if isinstance(command, OpenWatch) and command.revision else command

    return replaced((WatchMachine, "next", next_command))


def relist_without_departures() -> Any:
    """What a new list does not have any more stays in the cache."""

    def replace(self: CacheWriter[Any], items: Any, revision: int, *, went_back: bool = False) -> None:
        for item in items:
            self._cache.change(item.metadata.key, item)
        self._cache.revision = revision
        self._cache.synced.set()

    return replaced((CacheWriter, "replace", replace))


def work_on_a_key_twice() -> Any:
    """Two workers may have the same key at the same time."""

    def add(self: WorkQueue[Any], key: Any, original: Callable[..., None] = WorkQueue.add) -> None:
        self._working.pop(key, None)
        original(self, key)

    return replaced((WorkQueue, "add", add))


def believe_a_first_list() -> Any:
    """A new leader takes the first list for the newest, whatever its lease says."""

    async def run(self: Host, stop: Any, since: int = 0, original: Callable[..., Awaitable[None]] = Host.run) -> None:
        await original(self, stop, 0)

    return replaced((Host, "run", run))


def go_on_after_a_failed_stage() -> Any:
    """What needs a stage runs although that stage failed: a finalizer goes before its Pod is recorded."""

    async def carry_out(
        self: Executor,
        subject: Any,
        plan: Plan,
        is_wanted: Callable[[], bool],
        take_seat: Callable[[], bool],
        original: Callable[..., Awaitable[Any]] = Executor.carry_out,
    ) -> Any:
        stages = tuple(structs.replace(stage, needs=()) for stage in plan.stages)
        return await original(self, subject, structs.replace(plan, stages=stages), is_wanted, take_seat)

    return replaced((Executor, "carry_out", carry_out))


def delete_by_name_alone() -> Any:
    """Whatever has the name now."""

    async def delete(self: Writing, subject: str, action: Any) -> None:
        await _delete_any(self, action)

    return replaced((Writing, "_delete", delete))


async def _delete_any(writing: Writing, action: Any) -> None:
    kind = writing._types.of_ref(action.ref)
    path = kind.path(action.ref.namespace, action.ref.name)
    await writing._client.request(Call(method="DELETE", path=path))


def absent_without_asking() -> Any:
    """An owner that no watch has shown counts as gone."""

    def standing(reference: Any, node: Any, graph: Graph, types: Any) -> garbage.Standing:
        found = _STANDING(reference, node, graph, types)
        return garbage.Standing.ABSENT if found is garbage.Standing.UNKNOWN else found

    return replaced((garbage, "_standing", standing))


_STANDING = garbage._standing

NEVER = "after 600 s"  # the world does not come to rest

MUTANTS = (
    Mutant("skip-freshness", "replicasets", skip_freshness, ("never_too_many",)),
    Mutant("forget-creates", "replicasets", forget_creates, ("never_too_many",)),
    Mutant("forget-deletes", "replicasets", forget_deletes, ("never_too_few",), since=31),
    Mutant("believe-a-first-list", "leaders", believe_a_first_list, ("never_too_many",), since=34),
    Mutant("go-on-after-a-failed-stage", "jobs", go_on_after_a_failed_stage, ("steady succeeded",), since=8),
    Mutant("a-failed-list-is-empty", "replicasets", a_failed_list_is_empty, ("never_too_many",), since=200),
    Mutant("lose-the-last-event-of-a-watch", "replicasets", lose_the_last_event_of_a_watch, (NEVER,)),
    Mutant("begin-a-watch-at-the-newest", "replicasets", begin_a_watch_at_the_newest, (NEVER,)),
    Mutant("relist-without-departures", "replicasets", relist_without_departures, (NEVER,), since=67),
    Mutant("work-on-a-key-twice", "jobs", work_on_a_key_twice, ("never_more_than_parallel",)),
    Mutant("absent-without-asking", "garbage", absent_without_asking, ("only_garbage_goes",)),
    Mutant("delete-by-name-alone", "garbage", delete_by_name_alone, ("only_garbage_goes",), since=37),
)
