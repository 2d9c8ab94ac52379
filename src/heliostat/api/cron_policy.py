"""What a RayCronJob may ask for beyond KubeRay's fields, in annotations of ours; without them nothing differs.

Words and meanings are those of Kubernetes' own CronJob. Differs from KubeRay: cron-policy.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from heliostat.kube.counts import read_count
from heliostat.kube.problems import Problem

CONCURRENCY = "heliostat.dev/concurrency-policy"
STARTING_DEADLINE = "heliostat.dev/starting-deadline-seconds"
KEEP_SUCCESSFUL = "heliostat.dev/successful-jobs-history-limit"
KEEP_FAILED = "heliostat.dev/failed-jobs-history-limit"

ALLOW, FORBID, REPLACE = "Allow", "Forbid", "Replace"
POLICIES = (ALLOW, FORBID, REPLACE)
_COUNTS = (STARTING_DEADLINE, KEEP_SUCCESSFUL, KEEP_FAILED)
_MOST = 2**31 - 1


class CronPolicy(Struct, frozen=True, kw_only=True):
    """None: no limit."""

    concurrency: str = ALLOW
    starting_deadline: int | None = None  # seconds
    keep_successful: int | None = None
    keep_failed: int | None = None


def read_policy(annotations: Mapping[str, str] | None) -> CronPolicy:
    """Of annotations without problems."""
    given = annotations or {}
    return CronPolicy(
        concurrency=given.get(CONCURRENCY, ALLOW),
        starting_deadline=_read_count(given.get(STARTING_DEADLINE)),
        keep_successful=_read_count(given.get(KEEP_SUCCESSFUL)),
        keep_failed=_read_count(given.get(KEEP_FAILED)),
    )


def policy_problems(annotations: Mapping[str, str] | None, reason: str) -> Iterator[Problem]:
    given = annotations or {}
    concurrency = given.get(CONCURRENCY)
    if concurrency is not None and concurrency not in POLICIES:
        fix = f"use one of {', '.join(POLICIES)}, or leave the annotation out"
        yield _problem(CONCURRENCY, f'invalid concurrency policy "{concurrency}"', fix, reason)
    for key in _COUNTS:
        if key in given and _read_count(given[key]) is None:
            fix = f"write a whole number from 0 to {_MOST}, or leave the annotation out"
            yield _problem(key, f'invalid value "{given[key]}" of {key}', fix, reason)


def _problem(key: str, problem: str, fix: str, reason: str) -> Problem:
    return Problem(path=("metadata", "annotations", key), problem=problem, fix=fix, rule="cron-policy", reason=reason)


def _read_count(text: str | None) -> int | None:
    count = read_count(text) if text is not None else None
    return count if count is not None and count <= _MOST else None
