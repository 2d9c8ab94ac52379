"""The world that stories of RayJobs are told in: one for as long as tests run in this process."""

import re
import zlib
from collections.abc import Awaitable, Callable, Iterator

import pytest

from conformance.operator import stories
from conformance.operator.job_stories import Scene
from conformance.operator.running import RunningWorld
from heliostat.api.settings import Settings
from heliostat.testing.scripted_ray import RayScript

Tell = Callable[[RayScript, Callable[[Scene], Awaitable[None]]], None]


@pytest.fixture(scope="session")
def running() -> Iterator[RunningWorld]:
    found = RunningWorld(Settings())
    yield found
    found.close()


@pytest.fixture
def tell(running: RunningWorld, request: pytest.FixtureRequest) -> Tell:
    """In a namespace named after the test, with a Ray of its own script."""
    name = request.node.name
    namespace = f"{re.sub(r'[^a-z0-9]+', '-', name.lower())[:50].strip('-')}-{zlib.crc32(name.encode()):x}"
    return lambda script, story: stories.tell(running, Scene, namespace, script, story)
