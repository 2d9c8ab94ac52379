"""List and watch (a reflector), as a state machine without I/O: what to request next, and what an answer means.

    LISTING ──last page──▶ WATCHING ──ended, broken──▶ WATCHING (from the last revision)
       ▲  ▲                    │
       │  └──────── 410 ───────┘
    STREAMING ──initial events end──▶ WATCHING          (where the server can; it needs no pages)
        └─────refused, in whatever words──▶ LISTING

Rules: the view changes as a whole when a list is complete, never page by page; an event that is not newer than the view
was told before and is skipped; a list older than the view (a replica that lags) is refused, until it has been refused
so often that the server itself must have gone back (restored from a backup); a first list that is further behind the
lease than any replica can be is of another store, whose revisions tell nothing of ours, and is refused only to make
sure; every failure waits longer than the one before, and any progress forgets them; after a failure the next watch is
a short one, because only its end proves that a server with nothing to tell is heard again. A streaming list that is
refused, or ends before it is complete, is asked for in pages at once, whatever the answer was: a server with an old
etcd says 500 inside the stream, one without the feature 422. The next lists are asked for in pages, too; then another
streaming one is tried, as the server may have been upgraded.
"""

from collections.abc import Callable
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from heliostat.kube.backoff import Backoff
from heliostat.kube.objects import Object
from heliostat.runtime.errors import ApiError, ExpiredError, ThrottledError

T = TypeVar("T", bound=Object)

UNRELATED = 1_000_000  # revisions: minutes of a server that writes as fast as it can


class WatchSettings(Struct, frozen=True):
    page_size: int = 500
    watch_seconds: float = 45.0  # how long one watch lasts; the server ends it, and we go on from there
    proof_seconds: float = 2.0  # how long the first watch after a failure lasts
    silence_seconds: float = 8.0  # how much later than that a watch must have ended; else it is deaf
    stuck_seconds: float = 58.0  # without any progress: what the health check tells
    first_list_seconds: float = 10.0  # absent-kinds: how long the first list of an optional cache is waited for
    backoff: Backoff = Backoff(first=0.2, factor=2.0, limit=15.0)
    refuse_older_lists: int = 12  # times in a row, more than a minute: no replica lags so long, the server went back
    refuse_unrelated_lists: int = 2  # times in a row
    streaming: bool = True  # try the streaming list first
    paged_lists: int = 10  # in a row after a streaming list was refused; there is one when a watch cannot go on

    def lasting(self, seconds: float) -> "WatchSettings":
        """Watches of another length, in the same proportions: shorter ones make tests short."""
        share = seconds / self.watch_seconds
        return replace(
            self,
            watch_seconds=seconds,
            silence_seconds=self.silence_seconds * share,
            stuck_seconds=self.stuck_seconds * share,
        )


class ListPage(Struct, frozen=True):
    """Ask for one page; without a token for the first, as new as the server has it."""

    continue_token: str = ""


class OpenWatch(Struct, frozen=True):
    revision: int = 0  # 0 only with initial events: from whatever is newest
    initial_events: bool = False
    is_proof: bool = False  # it should end soon


class Pause(Struct, frozen=True):
    seconds: float


Command: TypeAlias = ListPage | OpenWatch | Pause


class Swap(Struct, Generic[T], frozen=True):
    """The whole view, as of a revision."""

    items: list[T]
    revision: int
    went_back: bool = False  # the server's history is another one than the one we knew


class Put(Struct, Generic[T], frozen=True):
    item: T


class Removed(Struct, Generic[T], frozen=True):
    item: T


class Progress(Struct, frozen=True):
    revision: int


Change: TypeAlias = Swap[T] | Put[T] | Removed[T] | Progress


class State(Enum):
    LISTING = "listing"
    STREAMING = "streaming"
    WATCHING = "watching"


class WatchMachine(Generic[T]):
    """``chance`` gives a number in [0, 1): waits are spread so that many watchers do not come back together.

    ``since`` is a revision that the server is known to have had: a list older than that is refused like any other.
    """

    def __init__(self, settings: WatchSettings, chance: Callable[[], float], since: int = 0) -> None:
        self._settings = settings
        self._chance = chance
        self._paged_lists = 0  # that many more lists come in pages
        self._state = self._first_state()
        self._token = ""
        self._collected: list[T] = []
        self._failures = 0
        self._pause = 0.0
        self._older_lists = 0
        self._has_view = False
        self.revision = since

    @property
    def state(self) -> State:
        return self._state

    def next(self) -> Command:
        """What to do now. A pause is told once; after it comes the request."""
        if self._pause:
            pause, self._pause = self._pause, 0.0
            return Pause(pause)
        match self._state:
            case State.LISTING:
                return ListPage(self._token)
            case State.STREAMING:
                self._collected = []
                return OpenWatch(initial_events=True)
            case State.WATCHING:
                return OpenWatch(self.revision, is_proof=self._failures > 0)

    def page(self, items: list[T], revision: int, continue_token: str) -> Swap[T] | None:
        """A page came; the view changes with the last one."""
        self._collected += items
        self._token = continue_token
        if continue_token:
            return None
        return self._complete(revision)

    def event(self, kind: str, item: T, revision: int) -> Change[T] | None:
        """One line of a watch. ``revision`` is that of the object in it."""
        if self._state is State.STREAMING:
            self._collected.append(item)
            return None
        if revision <= self.revision:
            return None
        self._advance(revision)
        return Removed(item) if kind == "DELETED" else Put(item)

    def bookmark(self, revision: int, *, ends_initial: bool) -> Change[T] | None:
        if self._state is State.STREAMING:
            return self._complete(revision) if ends_initial else None
        if revision <= self.revision:
            return None
        self._advance(revision)
        return Progress(revision)

    def ended(self) -> None:
        """The server closed the watch, as it does when its time is over."""
        if self._state is State.STREAMING:
            self._fall_back()
        else:
            self._failures = 0

    def failed(self, error: ApiError) -> None:
        """A request was refused or broke off, or the stream said so."""
        if isinstance(error, ThrottledError):
            self._retry(error.retry_after)
        elif self._state is State.STREAMING and error.is_answer:
            self._fall_back()
        elif isinstance(error, ExpiredError):
            self._start_over()
            self._retry()
        else:
            self._retry()

    def _fall_back(self) -> None:
        """Without a pause: nothing was asked for in pages yet."""
        self._paged_lists = self._settings.paged_lists + 1  # this one is one of them
        self._start_over()

    def _complete(self, revision: int) -> Swap[T] | None:
        if revision < self.revision and self._older_lists < self._most_refusals(revision):
            self._older_lists += 1
            self._start_over()
            self._retry()
            return None
        went_back = revision < self.revision
        items, self._collected = self._collected, []
        self._state = State.WATCHING
        self._has_view = True
        self._older_lists = 0
        self._advance(revision)
        return Swap(items, revision, went_back)

    def _most_refusals(self, revision: int) -> int:
        is_unrelated = not self._has_view and self.revision - revision > UNRELATED
        return self._settings.refuse_unrelated_lists if is_unrelated else self._settings.refuse_older_lists

    def _advance(self, revision: int) -> None:
        self.revision = revision
        self._failures = 0

    def _start_over(self) -> None:
        self._paged_lists = max(0, self._paged_lists - 1)
        self._state = self._first_state()
        self._token = ""
        self._collected = []

    def _first_state(self) -> State:
        return State.STREAMING if self._settings.streaming and not self._paged_lists else State.LISTING

    def _retry(self, at_least: float = 0.0) -> None:
        delay = self._settings.backoff.delay(self._failures)
        self._failures += 1
        self._pause = max(at_least, delay * (0.5 + self._chance() / 2))
