"""What scenarios of several files share: a cluster for each generation of the autoscaler, started when first used."""

from collections.abc import Iterator

import pytest

from e2e.local_machine import local_machine
from e2e.scaling import V1, V2, ScalingCluster, start_machine_with_slices


@pytest.fixture(scope="session", params=[V2, V1])
def scaling(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScalingCluster]:
    with local_machine(tmp_path_factory.mktemp(f"scaling-{request.param}") / "state") as machine:
        start_machine_with_slices(machine)
        yield ScalingCluster(machine, request.param)
