"""Why a Pod is not ready, as one sentence: its state, the newest warning that belongs to it, and what to do.

What the Pod says of itself counts first; where that is vague ("is being created", "is not ready"), a warning event
tells the cause. Pods of one group that wait for the same thing are told together.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from heliostat.explain.events import Warned, Warnings
from heliostat.explain.explanation import Sentence
from heliostat.explain.fixes import POD_FIXES, find_fix
from heliostat.kube.image_versions import find_version_differences
from heliostat.kube.pods import ContainerStatus, PodView, condition, is_terminal, is_terminating, why_waiting

# What is worth looking for in events, by what the Pod says. The other reasons tell enough themselves.
_TELLING: dict[str, tuple[str, ...]] = {
    "NotScheduled": ("FailedScheduling",),
    "ContainerCreating": ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Failed"),
    "PodInitializing": ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Failed"),
    "ContainersNotReady": ("Unhealthy",),
    "Initializing": ("Unhealthy",),
}


_LOOPING = "CrashLoopBackOff"
_OTHER_VERSION_FIX = (
    "heliostat down, then heliostat up --exact-images; or name the version that is there in the image and the spec"
)
_STARTED_AGAIN = (_LOOPING, "ContainersNotReady")


class PodTrouble(Struct, frozen=True):
    """Why one Pod is not ready; ``cause`` is what other Pods may have in common with it."""

    pod: PodView
    cause: str
    why: str
    fix: str


def find_pod_trouble(pod: PodView, warnings: Warnings) -> PodTrouble | None:
    """None for a Pod that is ready or has succeeded."""
    said = _why_failed(pod) if is_terminal(pod) else _why_unseen(pod) or why_waiting(pod)
    if said is None:
        return None
    state, why = said
    reason, why = _look_back(pod, state, why)
    warned = _find_warning(warnings.about("Pod", pod.name, pod.uid), reason)
    if warned is not None:
        why, reason = f"{why}; {_tell(warned)}", warned.reason
    return PodTrouble(pod, reason, why, _fix(pod, reason, why))


def tell_troubles(
    troubles: Iterable[PodTrouble], group_of: Callable[[PodView], str] = lambda _pod: ""
) -> tuple[Sentence, ...]:
    """One sentence for each group and cause, in the words of its first Pod."""
    together: dict[tuple[str, str], list[PodTrouble]] = {}
    for trouble in troubles:
        together.setdefault((group_of(trouble.pod), trouble.cause), []).append(trouble)
    return tuple(_tell_together(group, found) for (group, _cause), found in together.items())


def _tell_together(group: str, found: list[PodTrouble]) -> Sentence:
    first, others = found[0], len(found) - 1
    of_group = f" of group {group}" if group else ""
    who = f"Pod {first.pod.name}{of_group}"
    if others:
        who = f"Pod {first.pod.name} and {others} more{of_group}"
    state = "has failed" if is_terminal(first.pod) else "is being deleted" if is_terminating(first.pod) else ""
    verb = state or ("are not ready" if others else "is not ready")
    return Sentence(f"{who} {verb}: {first.cause}", first.why, first.fix)


def _why_unseen(pod: PodView) -> tuple[str, str] | None:
    """A Pod that has no node, and nobody says why."""
    if pod.node_name or is_terminating(pod) or condition(pod, "PodScheduled") is not None:
        return None
    return "NotScheduled", "no scheduler has looked at the Pod yet"


def _why_failed(pod: PodView) -> tuple[str, str] | None:
    if pod.phase != "Failed":
        return None
    for status in (*pod.init_container_statuses, *pod.container_statuses):
        ended = status.state.terminated
        if ended is not None and ended.exit_code != 0:
            told = f": {ended.message}" if ended.message else ""
            return ended.reason or "Error", f"container {status.name} exited with code {ended.exit_code}{told}"
    return pod.reason or "Failed", pod.message or "the Pod has failed and says no more"


def _look_back(pod: PodView, reason: str, why: str) -> tuple[str, str]:
    """A container that is started again and again says why in its last end, better than in the words for its pause."""
    blamed = find_blamed(pod)
    ended = blamed.last_state.terminated if blamed is not None else None
    if reason not in _STARTED_AGAIN or blamed is None or ended is None:
        return reason, why
    told = f" ({ended.reason})" if ended.reason not in ("", "Error", "Completed") else ""
    said = f": {ended.message}" if ended.message else ""
    past = f"last exited with code {ended.exit_code}{told}{said}"
    if reason != _LOOPING:
        return reason, f"{why}; it {past}"
    times = "once" if blamed.restart_count == 1 else f"{blamed.restart_count} times"
    cause = ended.reason if ended.reason == "OOMKilled" else reason
    return cause, f"container {blamed.name} {past}; it was restarted {times} and is restarted with back-off"


def _find_warning(warnings: tuple[Warned, ...], reason: str) -> Warned | None:
    telling = _TELLING.get(reason, ())
    return next((warned for warned in warnings if warned.reason in telling), None)


def _tell(warned: Warned) -> str:
    return f"{warned.message} ({warned.count} times)" if warned.count > 1 else warned.message


def find_blamed(pod: PodView) -> ContainerStatus | None:
    """The container that the sentence is about: of those not ready, the first that waits or has ended."""
    statuses = [status for status in (*pod.init_container_statuses, *pod.container_statuses) if not status.ready]
    stuck = (each for each in statuses if each.state.waiting is not None or _has_failed(each))
    return next(stuck, statuses[0] if statuses else None)


def _has_failed(status: ContainerStatus) -> bool:
    return status.state.terminated is not None and status.state.terminated.exit_code != 0


def _fix(pod: PodView, reason: str, why: str) -> str:
    blamed = find_blamed(pod)
    logs = logs_command(pod, blamed)
    has_restarted = blamed is not None and blamed.state.terminated is None
    return find_fix(POD_FIXES, reason, why).format(logs=logs, previous=f"{logs} --previous" if has_restarted else logs)


def logs_command(pod: PodView, status: ContainerStatus | None) -> str:
    namespace = f" -n {pod.namespace}" if pod.namespace not in ("", "default") else ""
    container = f" -c {status.name}" if status is not None and status.name not in pod.container_names[:1] else ""
    return f"heliostat logs {pod.name}{namespace}{container}"


def tell_versions(pods: Iterable[PodView]) -> Iterator[Sentence]:
    """Pods that run another version than their image says: they may well work, so it is a note."""
    for message, found in find_version_differences(pods).items():
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        verb = "run" if others else "runs"
        why = message.partition("; ")[0]  # what follows is the fix
        yield Sentence(
            f"Pod {found[0].name}{others} {verb} another version than the image says", why, _OTHER_VERSION_FIX
        )
