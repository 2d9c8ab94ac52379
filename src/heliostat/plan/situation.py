"""What a plan is made from, of any kind: a single frozen value. The same situation gives the same plan."""

from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from heliostat.api.settings import Settings
from heliostat.kube.problems import Problem


class Viewed(Protocol):
    """What is there, of any kind."""

    @property
    def has_unknown(self) -> bool:
        """Whether something that was looked for could not be read."""
        ...


O = TypeVar("O", bound=Viewed)  # noqa: E741
D = TypeVar("D")
R = TypeVar("R")


class Situation(Struct, Generic[O, D, R], frozen=True, kw_only=True):
    observed: O
    desired: D | None  # None only for a refused spec
    settings: Settings
    remembered: R
    now: float  # epoch seconds
    refusal: Problem | None = None
    warnings: tuple[Problem, ...] = ()  # those with an event reason are told at every pass

    @property
    def parts(self) -> D:
        """What the object should consist of, once it is known that the spec is accepted."""
        if self.desired is None:
            raise ValueError("an accepted object is planned with the objects it should consist of")
        return self.desired
