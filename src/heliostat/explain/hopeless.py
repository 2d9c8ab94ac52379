"""Which troubles of a Pod no waiting mends: an image nobody provides, a program that is not there, memory that never
suffices. Whoever waits for the Pod can stop at once and say so.

A row counts for its reasons and words once the container has ended so often and the trouble has lasted so long. What
may mend itself (a full disk, a Pod before it in the queue, a Secret that somebody is about to create) has no row or a
row with patience. A node that is full may have room later; one that is too small will not.
"""

from typing import NamedTuple

from heliostat.explain.pods import PodTrouble
from heliostat.kube.pods import ContainerStatus, Terminated, is_terminating


class Hopeless(NamedTuple):
    reasons: tuple[str, ...]
    words: tuple[str, ...] = ()  # in lower case, all of them somewhere in the sentence
    seconds: float = 0.0
    unless: str = ""  # in lower case; words that tell of hope


_IMAGE = ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "ErrImageNotProvided")
_SANDBOX = ("FailedCreatePodSandBox", "CreatePodSandboxError")
_SCHEDULING = ("Unschedulable", "FailedScheduling")
_MAY_HAVE_ROOM = "no preemption victims"  # the scheduler's words for a node that would do if Pods of it ended
_TOO_SMALL = "insufficient"  # and for one that is full, or has less than that when it is empty
_NEVER_HERE = "preemption is not helpful"  # it would not do without any Pod either
_FOR_OTHERS = 20.0  # seconds in which what is missing may still be made, or a node appear

HOPELESS: tuple[Hopeless, ...] = (
    Hopeless(("InvalidImageName",)),
    Hopeless(_IMAGE, ("images.toml",)),
    Hopeless(_IMAGE, ("and this machine has no",)),
    Hopeless(_IMAGE, ("there is no uv",)),
    Hopeless(_IMAGE, ("finds no python",)),
    Hopeless(_IMAGE, ("no solution found",)),
    Hopeless(_SANDBOX, ("unshare(",), _FOR_OTHERS),
    Hopeless(("CreateContainerConfigError",), (), _FOR_OTHERS),
    Hopeless(_SCHEDULING, ("node affinity/selector",), _FOR_OTHERS, _MAY_HAVE_ROOM),
    Hopeless(_SCHEDULING, ("untolerated taint",), _FOR_OTHERS, _MAY_HAVE_ROOM),
    Hopeless(_SCHEDULING, (_TOO_SMALL, _NEVER_HERE), _FOR_OTHERS, _MAY_HAVE_ROOM),
)

_NOT_STARTED = ("ContainerCannotRun", "StartError")
_NO_PROGRAM = ("not found", "no such file", "permission denied", "exec format error")
_NO_PROGRAM_CODES = (126, 127)  # how shells say the same
_MOST_KILLS = 2  # for want of memory: the second was no accident
_MOST_ENDS = 3


def is_hopeless(trouble: PodTrouble, seconds: float) -> bool:
    """``seconds`` is how long it has been the same."""
    pod, text = trouble.pod, trouble.why.lower()
    if is_terminating(pod):
        return False
    fits = (row for row in HOPELESS if trouble.cause in row.reasons and _fits(row, text))
    if any(seconds >= row.seconds for row in fits):
        return True
    return any(map(_keeps_ending, (*pod.init_container_statuses, *pod.container_statuses)))


def _fits(row: Hopeless, text: str) -> bool:
    return all(words in text for words in row.words) and not (row.unless and row.unless in text)


def _keeps_ending(status: ContainerStatus) -> bool:
    ended = status.state.terminated or status.last_state.terminated
    if ended is None or ended.exit_code == 0 or status.state.running is not None:
        return False
    ends = status.restart_count + 1
    most = _MOST_KILLS if ended.reason == "OOMKilled" else _MOST_ENDS
    return ends >= most or _has_no_program(ended)


def _has_no_program(ended: Terminated) -> bool:
    if ended.reason in _NOT_STARTED:
        return any(words in ended.message.lower() for words in _NO_PROGRAM)
    return ended.exit_code in _NO_PROGRAM_CODES
