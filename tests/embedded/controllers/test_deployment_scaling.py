"""A Deployment whose size changes amid a rollout: every ReplicaSet gets its share."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import convert

from heliostat.embedded.controllers.deployments.generations import Generations
from heliostat.embedded.controllers.deployments.scaling import decide_sizes, is_scaled
from heliostat.embedded.controllers.views.deployments import Deployment
from heliostat.embedded.controllers.views.replicasets import ReplicaSet

DESIRED, MOST = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"


def build(replicas: int, surge: int = 0, kind: str = "RollingUpdate") -> Deployment:
    strategy = {"type": kind, "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1}}
    return convert({"metadata": {"name": "web"}, "spec": {"replicas": replicas, "strategy": strategy}}, Deployment)


def owned(name: str, replicas: int, desired: int, most: int, available: int = 0) -> ReplicaSet:
    """The name also tells the age: rs-1 is older than rs-2."""
    return convert(
        {
            "metadata": {
                "name": name,
                "uid": name,
                "creationTimestamp": f"2026-01-01T00:00:0{name[-1]}Z",
                "annotations": {DESIRED: str(desired), MOST: str(most)},
            },
            "spec": {"replicas": replicas},
            "status": {"availableReplicas": available},
        },
        ReplicaSet,
    )


# (Deployment's size before and after, sizes oldest first, sizes after). The last one is the new ReplicaSet.
SHARES = [
    (10, 12, [10], [12]),
    (10, 5, [10], [5]),
    (10, 20, [5, 5], [10, 10]),
    (10, 12, [5, 5], [6, 6]),
    (10, 8, [5, 5], [4, 4]),
    (10, 0, [7, 3], [0, 0]),
    (10, 11, [5, 5], [5, 6]),
    (10, 9, [5, 5], [4, 5]),
    (10, 15, [2, 3, 5], [2, 5, 8]),
    (10, 5, [2, 3, 5], [1, 2, 2]),
    (3, 6, [0, 0], [0, 6]),
]


@pytest.mark.parametrize(("before", "after", "sizes", "expected"), SHARES)
def test_shares(before: int, after: int, sizes: list[int], expected: list[int]) -> None:
    sets = [owned(f"rs-{number}", size, before, before) for number, size in enumerate(sizes, 1)]
    decided = decide_sizes(build(after), Generations(sets[-1], tuple(sets[:-1])))
    assert [decided.get(found.metadata.uid, found.spec.replicas) for found in sets] == expected


def test_a_complete_new_replica_set_sends_the_old_ones_home() -> None:
    old, new = owned("rs-1", 2, 10, 10), owned("rs-2", 5, 5, 5, available=5)
    assert decide_sizes(build(5), Generations(new, (old,))) == {"rs-1": 0}


def test_without_a_new_replica_set_the_newest_old_one_is_scaled() -> None:
    sets = (owned("rs-1", 0, 3, 3), owned("rs-2", 0, 3, 3))
    assert decide_sizes(build(4), Generations(None, sets)) == {"rs-2": 4}


def test_recreate_shares_nothing() -> None:
    sets = Generations(owned("rs-2", 2, 4, 4), (owned("rs-1", 2, 4, 4),))
    assert decide_sizes(build(8, kind="Recreate"), sets) == {}


def test_no_replica_sets_no_sizes() -> None:
    assert decide_sizes(build(3), Generations(None, ())) == {}


def test_a_change_of_size_is_told_from_a_rollout() -> None:
    idle, busy = owned("rs-1", 0, 99, 99), owned("rs-2", 3, 3, 4)
    assert not is_scaled(build(3), Generations(busy, (idle,)))
    assert is_scaled(build(4), Generations(busy, (idle,)))


@given(
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=5),
    surge=st.integers(0, 5),
    after=st.integers(0, 200),
)
@example(sizes=[1, 1, 1, 1], surge=0, after=2)
def test_the_sum_is_what_the_deployment_may_have(sizes: list[int], surge: int, after: int) -> None:
    """Above it only where every share is rounded to stay, and the one that bears the rest has less than that.

    Kubernetes does not go on then, either: the rollout takes the rest away.
    """
    before = sum(sizes)
    sets = [owned(f"rs-{number}", size, before - surge, before) for number, size in enumerate(sizes, 1)]
    decided = decide_sizes(build(after, surge), Generations(sets[-1], tuple(sets[:-1])))
    wanted = after + surge if after else 0
    assert sum(decided.values()) == wanted or (sum(decided.values()) > wanted and 0 in decided.values())
    assert all(size >= 0 for size in decided.values())
    steps = [decided[found.metadata.uid] - found.spec.replicas for found in sets]
    assert all(step >= 0 for step in steps) or all(step <= 0 for step in steps)
