"""The world that stories of RayServices are told in: one for as long as tests run in this process."""

import re
import zlib
from collections.abc import Awaitable, Callable, Iterator

import pytest

from conformance.operator import stories
from conformance.operator.running import RunningWorld
from conformance.operator.service_stories import ServiceScene
from heliostat.api.settings import Settings
from heliostat.testing.scripted_ray import RECORDED

Tell = Callable[[Callable[[ServiceScene], Awaitable[None]]], None]


@pytest.fixture(scope="session")
def service_world() -> Iterator[RunningWorld]:
    found = RunningWorld(Settings())
    yield found
    found.close()


@pytest.fixture
def tell(service_world: RunningWorld, request: pytest.FixtureRequest) -> Tell:
    """In a namespace named after the test."""
    name = request.node.name
    namespace = f"{re.sub(r'[^a-z0-9]+', '-', name.lower())[:50].strip('-')}-{zlib.crc32(name.encode()):x}"
    return lambda story: stories.tell(service_world, ServiceScene, namespace, RECORDED, story)
