"""The life of simulated Pods as a table: when a row matches, its deed is done after its delay.

Of the rows that match, the one that is due first counts, and of those the one that stands higher. Delays run from the
moment the Pod reached its place in life. Tests may hand in tables of their own.
"""

from collections.abc import Mapping

from msgspec import Struct

from heliostat.embedded.controllers.nodes.conduct import Conduct
from heliostat.embedded.controllers.nodes.life import BACKING_OFF, BOUND, CREATING, OVER, READY, STARTED
from heliostat.embedded.controllers.views.pods import Pod

# Deeds: what becomes of the Pod.
ADMIT = "admit"  # its containers are being created
RUN = "run"  # they run and are not ready
MAKE_READY = "make ready"
EXIT = "exit"
EVICT = "evict"
EXPIRE = "expire"  # it was active for longer than it may
STOP = "stop"  # its containers obey the signal to end
REMOVE = "remove"

# Delays that the Pod itself knows.
OF_BACK_OFF = "back-off"
OF_DEADLINE = "deadline"


class When(Struct, frozen=True):
    """Every field that is set must hold; ``asks`` wants one of these words in the annotation, ``lacks`` none."""

    life: tuple[str, ...]
    is_terminating: bool = False
    asks: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    has_deadline: bool = False

    def matches(self, pod: Pod, life: str, conduct: Conduct) -> bool:
        if life not in self.life or pod.metadata.is_terminating != self.is_terminating:
            return False
        if self.has_deadline and pod.spec.active_deadline_seconds is None:
            return False
        if self.asks and not any(map(conduct.asks, self.asks)):
            return False
        labels = pod.metadata.labels
        return not any(map(conduct.asks, self.lacks)) and all(
            labels.get(key) == value for key, value in self.labels.items()
        )


class After(Struct, frozen=True):
    """Seconds, unless the annotation says so (``asked``) or the Pod itself (``own``); ``jitter`` comes on top."""

    seconds: float = 0.0
    asked: str = ""
    own: str = ""
    jitter: float = 0.0
    is_within_grace: bool = False


class Stage(Struct, frozen=True):
    name: str
    when: When
    do: str
    after: After = After()
    exit_code: int = 0


_RUNNING = (STARTED, READY)
_STUCK = ("stuck-terminating",)
_UNREADY = ("ready-after", "never-ready")

DEFAULT_STAGES: tuple[Stage, ...] = (
    Stage("remove", When((BOUND, CREATING, OVER), is_terminating=True, lacks=_STUCK), REMOVE),
    Stage(
        "stop",
        When((*_RUNNING, BACKING_OFF), is_terminating=True, lacks=_STUCK),
        STOP,
        After(asked="terminate-after", is_within_grace=True),
        exit_code=143,
    ),
    Stage("admit", When((BOUND,)), ADMIT),
    Stage(
        "start",
        When((CREATING,), lacks=("stay-pending", *_UNREADY)),
        MAKE_READY,
        After(asked="start-after"),
    ),
    Stage(
        "start unready",
        When((CREATING,), asks=_UNREADY, lacks=("stay-pending",)),
        RUN,
        After(asked="start-after"),
    ),
    Stage("become ready", When((STARTED,), lacks=("never-ready",)), MAKE_READY, After(asked="ready-after")),
    Stage(
        "expire",
        When((CREATING, *_RUNNING, BACKING_OFF), has_deadline=True),
        EXPIRE,
        After(own=OF_DEADLINE),
        exit_code=143,
    ),
    Stage("evict", When(_RUNNING, asks=("evict-after",)), EVICT, After(asked="evict-after"), exit_code=137),
    Stage("succeed", When(_RUNNING, asks=("succeed-after",)), EXIT, After(asked="succeed-after")),
    Stage("fail", When(_RUNNING, asks=("fail-after",)), EXIT, After(asked="fail-after"), exit_code=1),
    Stage("restart", When((BACKING_OFF,), lacks=_UNREADY), MAKE_READY, After(own=OF_BACK_OFF)),
    Stage("restart unready", When((BACKING_OFF,), asks=_UNREADY), RUN, After(own=OF_BACK_OFF)),
)

# The least that happens: two writes for the life of a Pod.
FAST_STAGES: tuple[Stage, ...] = (
    Stage("remove", When((BOUND, CREATING, STARTED, READY, BACKING_OFF, OVER), is_terminating=True), REMOVE),
    Stage("start", When((BOUND, CREATING)), MAKE_READY),
)
