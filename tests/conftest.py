"""Settings for all tests. Laws run without a time limit per example, and in CI with examples that never change.

Tests marked ``soak`` take minutes; only ``make soak`` has them.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "HELIOSTAT_SOAK" not in os.environ:
        long = [item for item in items if item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
