"""How far a rolling update may go: counts and percentages, rounded as Kubernetes rounds them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.controllers.deployments.bounds import bounds_of
from heliostat.embedded.controllers.views.deployments import Deployment, DeploymentSpec, RollingUpdate, Strategy
from heliostat.kube.objects import Metadata


def build(replicas: int, surge: int | str, unavailable: int | str, kind: str = "RollingUpdate") -> Deployment:
    strategy = Strategy(kind, RollingUpdate(max_surge=surge, max_unavailable=unavailable))
    return Deployment(Metadata(), DeploymentSpec(replicas=replicas, strategy=strategy))


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (10, 3, 2, (3, 2)),
        (10, "25%", "25%", (3, 2)),
        (3, "25%", "25%", (1, 0)),
        (1, "25%", "25%", (1, 0)),
        (2, "0%", "1%", (0, 1)),
        (2, 0, 0, (0, 1)),
        (4, "100%", "0%", (4, 0)),
        (4, 0, "100%", (0, 4)),
        (2, 0, 5, (0, 2)),
        (0, "25%", "25%", (0, 0)),
        (0, 1, 1, (1, 0)),
        (3, "many", "few", (0, 1)),
    ],
)
def test_rounding(replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]) -> None:
    bounds = bounds_of(build(replicas, surge, unavailable))
    assert (bounds.surge, bounds.unavailable) == expected
    assert (bounds.most, bounds.least_available) == (replicas + expected[0], replicas - expected[1])


def test_recreate_knows_no_surge() -> None:
    bounds = bounds_of(build(4, 2, 2, "Recreate"))
    assert (bounds.most, bounds.least_available) == (4, 4)


@given(st.integers(1, 500), st.integers(0, 100), st.integers(0, 100))
def test_a_rollout_can_always_move(replicas: int, surge: int, unavailable: int) -> None:
    bounds = bounds_of(build(replicas, f"{surge}%", f"{unavailable}%"))
    assert bounds.surge + bounds.unavailable > 0
    assert 0 <= bounds.least_available <= replicas <= bounds.most
