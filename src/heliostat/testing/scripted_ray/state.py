"""Scripted clusters: what was submitted and deployed, what disturbs them, and the log of what was accepted."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, structs

from heliostat.testing.scripted_ray.faults import FOREVER, RayFault
from heliostat.testing.scripted_ray.script import RECORDED, RayScript


class Accepted(Struct, frozen=True):
    """A submission that Ray took: a second one of the same cluster and id was one too many."""

    cluster: str
    id: str
    at: float
    entrypoint: str = ""


class ScriptedJob(Struct):
    id: str
    entrypoint: str
    submitted: float
    metadata: dict[str, str]
    runtime_env: dict[str, Any]
    stopped: float | None = None


class Deployed(Struct, frozen=True):
    """What Serve was asked to run: configurations by name, and since when."""

    applications: dict[str, Any] = {}
    at: float = 0.0
    target_capacity: float | None = None


class ScriptedCluster:
    """``name`` is namespace/service."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.script: RayScript | None = None  # of its own: an application that never gets ready, a job that never ends
        self.jobs: dict[str, ScriptedJob] = {}
        self.asked_for: set[str] = set()  # jobs that were missing when somebody asked
        self.deployed = Deployed()
        self.former = Deployed()  # what was asked for before that
        self.packages: set[str] = set()
        self.requests: list[str] = []
        self._faults: list[RayFault] = []

    def disturb(self, *faults: RayFault) -> None:
        self._faults += faults

    def heal(self) -> None:
        self._faults.clear()

    def lose(self) -> None:
        """The head is gone, and with it all that it knew."""
        self.jobs.clear()
        self.asked_for.clear()
        self.deployed = self.former = Deployed()
        self.packages.clear()

    @property
    def applications(self) -> dict[str, Any]:
        """Configurations by name, as they were last asked for."""
        return self.deployed.applications

    @property
    def target_capacity(self) -> float | None:
        return self.deployed.target_capacity

    def deploy(self, deployed: Deployed) -> None:
        self.deployed, self.former = deployed, self.deployed

    def told_at(self, moment: float, following_seconds: float) -> Deployed:
        """What Serve tells of, as of that moment."""
        return self.deployed if moment >= self.deployed.at + following_seconds else self.former

    def take_fault(self, method: str, path: str) -> RayFault | None:
        for place, fault in enumerate(self._faults):
            if fault.is_met_by(method, path):
                if fault.times == 1:
                    del self._faults[place]
                elif fault.times != FOREVER:
                    self._faults[place] = structs.replace(fault, times=fault.times - 1)
                return fault
        return None


class ScriptedRay:
    """All clusters there are; one that is asked for is there. ``now`` is a wall clock, real or virtual."""

    def __init__(self, now: Callable[[], float], script: RayScript = RECORDED) -> None:
        self.now = now
        self.script = script
        self.accepted: list[Accepted] = []
        self.clusters: dict[str, ScriptedCluster] = {}
        self.on_accepted: Callable[[Accepted], None] | None = None

    def cluster(self, name: str) -> ScriptedCluster:
        return self.clusters.setdefault(name, ScriptedCluster(name))

    def script_of(self, cluster: ScriptedCluster) -> RayScript:
        return cluster.script or self.script

    def accept(self, cluster: ScriptedCluster, id_: str, entrypoint: str) -> None:
        taken = Accepted(cluster.name, id_, self.now(), entrypoint)
        self.accepted.append(taken)
        if self.on_accepted is not None:
            self.on_accepted(taken)

    def accepted_twice(self) -> list[Accepted]:
        """Submissions that came again although they had been accepted: none, where each was sent exactly once."""
        seen: set[tuple[str, str]] = set()
        again = []
        for taken in self.accepted:
            if (taken.cluster, taken.id) in seen:
                again.append(taken)
            seen.add((taken.cluster, taken.id))
        return again
