"""Whether a container that has ended runs again, and how long after: by the Pod's policy, and the more often it has
ended lately the later. Pure."""

from collections.abc import Sequence
from typing import Final

from heliostat.embedded.node.pods import NodePod
from heliostat.embedded.node.shim.journal import Run
from heliostat.kube.backoff import Backoff

CRASH_BACKOFF: Final = Backoff(first=10.0, factor=2.0, limit=300.0)
FORGIVEN_SECONDS: Final = 600.0  # a container that ran so long begins with a short back-off again


def may_restart(pod: NodePod, run: Run) -> bool:
    policy = pod.spec.restart_policy
    return policy == "Always" or (policy == "OnFailure" and run.exit_code != 0)


def backoff_left(runs: Sequence[Run], now: float) -> float:
    """Seconds until the next start."""
    wait = backoff_seconds(runs)
    return runs[-1].finished_at + wait - now if wait else 0.0


def backoff_seconds(runs: Sequence[Run]) -> float:
    """Between the last end and the next start. At first it is none."""
    crashes = 0
    for run in reversed(runs):
        if run.finished_at - run.started_at > FORGIVEN_SECONDS:
            break
        crashes += 1
    return CRASH_BACKOFF.delay(crashes - 2) if crashes > 1 else 0.0
