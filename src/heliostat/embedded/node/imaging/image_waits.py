"""Which containers have to wait for what their image stands for. Pure.

Of the steps that were decided, the starts of images that are being made are left out and told about, and what nobody
makes yet is asked for.
"""

from typing import Protocol, TypeAlias

from msgspec import Struct

from heliostat.embedded.node.lifecycle import Decision, Pull, Start, Step
from heliostat.embedded.node.pods import NodePod
from heliostat.embedded.node.statuses import Trouble


class Present(Struct, frozen=True):
    """Nothing has to be made, or it is there."""


class Absent(Struct, frozen=True):
    """Nobody makes it yet."""


class Pulling(Struct, frozen=True):
    progress: str


class PullFailed(Struct, frozen=True):
    why: str
    again_at: float


PullState: TypeAlias = Present | Absent | Pulling | PullFailed


class Held(Struct, frozen=True):
    decision: Decision
    troubles: dict[str, Trouble] = {}  # by container


class Shelf(Protocol):
    def state(self, name: str, uid: str) -> PullState:
        """Of the image, for this Pod."""


def hold_back(pod: NodePod, decision: Decision, shelf: Shelf, now: float) -> Held:
    steps: list[Step] = []
    troubles: dict[str, Trouble] = {}
    waits = [decision.wake_after]
    for step in decision.steps:
        if not isinstance(step, Start):
            steps.append(step)
            continue
        image = pod.container(step.container).image
        match shelf.state(image, pod.metadata.uid):
            case Present():
                steps.append(step)
            case Absent():
                steps.append(Pull(image))
            case Pulling(progress):
                troubles[step.container] = Trouble("ContainerCreating", f'Pulling image "{image}": {progress}')
            case PullFailed(why, again_at) if again_at > now:
                waits.append(again_at - now)
                troubles[step.container] = Trouble("ImagePullBackOff", f'Back-off pulling image "{image}": {why}')
            case PullFailed():
                steps.append(Pull(image))
    found = [wait for wait in waits if wait is not None]
    return Held(Decision(tuple(dict.fromkeys(steps)), min(found) if found else None), troubles)
