"""Settings for all tests. Laws run without a time limit per example, and in CI with examples that never change.

Tests marked ``soak`` or ``e2e`` take minutes; only ``make soak`` and ``make e2e`` have them.
"""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# Whoever starts the tests in the background of a script has them ignore Ctrl-C, and so every program that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_ASKED_FOR = {"soak": "HELIOSTAT_SOAK", "e2e": "HELIOSTAT_E2E"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    unasked = [marker for marker, variable in _ASKED_FOR.items() if variable not in os.environ]
    long = [item for item in items if any(item.get_closest_marker(marker) for marker in unasked)]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]
