"""One server per module: its start is most of what a test would cost."""

from collections.abc import Iterator

import pytest

from embedded.node_connections.running import NodeServer, node_server


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeServer]:
    with node_server(tmp_path_factory.mktemp("node")) as running:
        yield running
