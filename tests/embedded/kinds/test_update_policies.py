"""The tables of what an update means name kinds that are served, and contradict neither each other nor themselves."""

import pytest

from heliostat.embedded.kinds.cautions.by_kind import CAUTIONS
from heliostat.embedded.kinds.object_metadata import FREE_FINALIZERS
from heliostat.embedded.kinds.workloads.update_policies import MADE_BY_UPDATE, NEEDING_A_VERSION
from heliostat.embedded.server.builtin_kinds import builtin_resources

SERVED = {resource.storage_name for resource in builtin_resources(with_previews=True)}


@pytest.mark.parametrize(
    "table",
    [MADE_BY_UPDATE, NEEDING_A_VERSION, FREE_FINALIZERS, CAUTIONS.keys()],
    ids=["made", "version", "free", "warn"],
)
def test_a_table_names_kinds_that_are_served(table: frozenset[str]) -> None:
    assert set(table) <= SERVED
    assert table


def test_what_elections_run_on_is_made_by_an_update_and_needs_a_version() -> None:
    assert "leases.coordination.k8s.io" in MADE_BY_UPDATE & NEEDING_A_VERSION
    assert "configmaps" not in MADE_BY_UPDATE | NEEDING_A_VERSION
