"""What Ray says about a job, as a planner takes it: a fact ("no such job" is one, too), or unknown."""

from typing import TypeAlias

from msgspec import Struct

from heliostat.kube.facts import Fact, Unknown

PENDING, RUNNING, STOPPED, SUCCEEDED, FAILED = "PENDING", "RUNNING", "STOPPED", "SUCCEEDED", "FAILED"
NOT_SAID = ""
OVER = frozenset({STOPPED, SUCCEEDED, FAILED})
STATUSES = frozenset({NOT_SAID, PENDING, RUNNING, *OVER})


class JobInfo(Struct, frozen=True):
    status: str
    message: str = ""
    entrypoint: str = ""
    started: float | None = None  # epoch seconds
    ended: float | None = None


class JobAbsent(Struct, frozen=True):
    """Ray answered that it knows no job of this id."""


ABSENT = JobAbsent()

Answer: TypeAlias = Fact[JobInfo | JobAbsent] | Unknown
