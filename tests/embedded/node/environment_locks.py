"""Another process that builds an environment: it holds the lock for as long as a test wants."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from heliostat.embedded.node.imaging.image_environments import plan_build
from heliostat.embedded.node.imaging.images import Image


@contextmanager
def lock_environment(name: str, entry: Image) -> Iterator[None]:
    order = plan_build(name, (entry,))
    assert order is not None
    order.place.parent.mkdir(parents=True, exist_ok=True)
    with order.place.with_name(f"{order.place.name}.lock").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
