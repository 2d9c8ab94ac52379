"""What is simulated: which machines there are, by which table Pods live on them, and the seed of all chance."""

import hashlib
from collections.abc import Mapping

from msgspec import Struct

from heliostat.embedded.controllers.nodes.conduct import ANNOTATION
from heliostat.embedded.controllers.nodes.machines import Machine
from heliostat.embedded.controllers.nodes.stages import DEFAULT_STAGES, Stage
from heliostat.embedded.controllers.nodes.steps import Fraction
from heliostat.embedded.controllers.views.nodes import Node
from heliostat.embedded.controllers.views.pods import Pod

LOST = "lost"  # on a Node: its agent is silent, and its Pods stay as they are


class Simulation(Struct, frozen=True):
    machines: tuple[Machine, ...]
    stages: tuple[Stage, ...] = DEFAULT_STAGES
    seed: str = ""
    heartbeat_seconds: float = 10.0

    @property
    def by_name(self) -> Mapping[str, Machine]:
        return {machine.name: machine for machine in self.machines}


def is_lost(node: Node | None) -> bool:
    """No agent speaks for it: it was never registered, is gone, or was made to fall silent."""
    return node is None or node.metadata.annotations.get(ANNOTATION) == LOST


def jitter_of(pod: Pod, restarts: int, seed: str) -> Fraction:
    """Chance that is the same however often it is asked for: a hash of the Pod, its restarts and the stage."""

    def fraction(stage: str) -> float:
        facts = "\0".join((seed, pod.metadata.uid, str(restarts), stage))
        return int.from_bytes(hashlib.sha256(facts.encode()).digest()[:6], "big") / 2**48

    return fraction
