"""What the processes of a local Heliostat are told that those of a cluster are not."""

from pathlib import Path

import pytest

from heliostat.api.crds import all_crds
from heliostat.local.assembly import REMEMBERED, LocalOptions, build_orders
from heliostat.local.state import State


def test_every_kind_of_ours_is_remembered_beside_pods_services_and_jobs() -> None:
    names = {tree["metadata"]["name"] for tree in all_crds()}
    assert {*REMEMBERED} == {*names, "pods", "services", "jobs.batch"}


@pytest.mark.parametrize(("options", "seconds"), [(LocalOptions(), 1), (LocalOptions(ready_probe_seconds=0), 0)])
def test_ray_is_asked_sooner_whether_it_is_ready_unless_somebody_wants_the_usual(
    options: LocalOptions, seconds: int, tmp_path: Path
) -> None:
    orders = build_orders(State(tmp_path), options, lock=0)
    assert f"--ready-probe-seconds={seconds}" in orders.kept["operator"]
    assert f"--history={tmp_path / 'history'}" in orders.kept["control-plane"]
