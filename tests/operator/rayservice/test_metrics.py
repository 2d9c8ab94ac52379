"""KubeRay's metrics of RayServices follow the cache: what is there has its series, what is gone has none."""

from typing import Any

import msgspec
import pytest

from heliostat.operator.kinds import RAY_SERVICES, WholeObject
from heliostat.operator.rayservice.metrics import ServiceMetrics
from heliostat.runtime.cache import Cache, CacheWriter
from heliostat.runtime.metrics import Registry
from runtime.exposition import parse, samples

NAMED = 'name="svc",namespace="default",uid="u1"'


class World:
    """A cache that the test writes to, and the metrics that listen to it."""

    def __init__(self) -> None:
        cache = Cache(RAY_SERVICES)
        self.writer, self.registry = CacheWriter(cache), Registry()
        ServiceMetrics(self.registry, [cache])

    def put(self, version: int, **parts: Any) -> WholeObject:
        metadata = {"name": "svc", "namespace": "default", "uid": "u1", "resourceVersion": str(version)}
        tree = {"metadata": metadata, "spec": {}, **parts}
        service = msgspec.json.decode(msgspec.json.encode(tree), type=WholeObject)
        self.writer.put(service)
        return service

    def told(self) -> dict[str, float]:
        text = self.registry.render()
        parse(text)
        return samples(text)


def conditions(**told: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": type_, "status": status} for type_, status in told.items()]}}


@pytest.mark.parametrize(
    ("parts", "ready", "upgrade"),
    [
        ({}, "false", "false"),  # before the first pass
        (conditions(Ready="True", UpgradeInProgress="False"), "true", "false"),
        (conditions(Ready="False", UpgradeInProgress="True"), "false", "true"),
        (conditions(Ready="False", UpgradeInProgress="Unknown"), "false", "false"),
        (conditions(Ready="False"), "false", "false"),  # refused from the start
    ],
)
def test_each_service_has_one_series_for_each_condition(parts: dict[str, Any], ready: str, upgrade: str) -> None:
    world = World()
    world.put(1, **conditions(Ready="True", UpgradeInProgress="True"))
    world.put(2, **parts)
    assert world.told() == {
        f"kuberay_service_info{{{NAMED}}}": 1,
        f'kuberay_service_condition_ready{{{NAMED},condition="{ready}"}}': 1,
        f'kuberay_service_condition_upgrade_in_progress{{{NAMED},condition="{upgrade}"}}': 1,
    }


def test_a_service_that_is_gone_has_none() -> None:
    world = World()
    world.writer.remove(world.put(1))
    assert world.told() == {}
