"""The suite runs on every journal there is."""

from pathlib import Path

import pytest

from embedded.storage.stores import Disk, memory_disk, sqlite_disk


@pytest.fixture(params=["memory", "sqlite"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return memory_disk() if request.param == "memory" else sqlite_disk(tmp_path)
