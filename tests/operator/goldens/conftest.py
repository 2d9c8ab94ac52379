"""The worlds that golden cases are played in: one for each settings, for as long as tests run in this process."""

from collections.abc import Iterator

import pytest

from conformance.operator.running import Worlds


@pytest.fixture(scope="session")
def worlds() -> Iterator[Worlds]:
    found = Worlds()
    yield found
    found.close()
