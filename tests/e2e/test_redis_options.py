"""The ways to tell a cluster where its state is kept: by options or by annotation, with and without credentials.

One head without workers for each: it comes up with its state in Redis, and its deletion leaves nothing there.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import Struct

from e2e.clusters import RealCluster, build_cluster, needs_real_ray
from e2e.local_machine import LocalMachine, local_machine, wait_for
from e2e.redis_pod import CLOSED, OPEN, PASSWORD, SECRET, USER, count_keys, start_redis

pytestmark = needs_real_ray

ENABLED = {"ray.io/ft-enabled": "true"}
NAMESPACE = {"ray.io/external-storage-namespace": "a-corner-of-its-own"}
LONGEST = "c" * 51 + "-x"  # the name of its clean-up Job is cut off


class Case(Struct, frozen=True, kw_only=True):
    name: str
    redis: str = CLOSED
    options: dict[str, Any] | None = None
    annotations: dict[str, str] | None = None
    params: dict[str, str] = {}
    env: tuple[dict[str, Any], ...] = ()


BY_OPTIONS = [
    Case(name="no-password", redis=OPEN, options={}),
    Case(name="password", options={"redisPassword": {"value": PASSWORD}}),
    Case(name="username", options={"redisUsername": {"value": USER}, "redisPassword": {"value": PASSWORD}}),
    Case(name="secret", options={"redisPassword": {"valueFrom": SECRET}}),
    Case(name=LONGEST, redis=OPEN, options={}),
]
BY_ANNOTATION = [
    Case(name="noted", redis=OPEN, annotations=ENABLED),
    Case(name="noted-parameter", annotations=ENABLED, params={"redis-password": PASSWORD}),
    Case(
        name="noted-variable",
        annotations=ENABLED,
        params={"redis-password": "$REDIS_PASSWORD"},
        env=({"name": "REDIS_PASSWORD", "valueFrom": SECRET},),
    ),
    Case(name="noted-namespace", redis=OPEN, annotations=ENABLED | NAMESPACE),
]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMachine]:
    with local_machine(tmp_path_factory.mktemp("redis") / "state") as started:
        assert started.heliostat("up").returncode == 0
        start_redis(started, OPEN, CLOSED)
        yield started


@pytest.mark.parametrize("case", [*BY_OPTIONS, *BY_ANNOTATION], ids=lambda case: case.name)
def test_state_is_kept_in_redis_and_gone_with_the_cluster(machine: LocalMachine, case: Case) -> None:
    cluster = RealCluster(machine, build_durable(case))
    cluster.wait_until_ready()
    variables = head_variables(cluster)
    assert variables["RAY_REDIS_ADDRESS"]["value"] == f"{case.redis}:6379"
    assert variables["RAY_external_storage_namespace"]["value"] == find_namespace(cluster)
    assert ("REDIS_PASSWORD" in variables) == (case.redis == CLOSED)
    assert count_keys(machine, case.redis) > 0
    machine.kubectl("delete", "raycluster", cluster.name, "--timeout=120s")
    wait_for(lambda: count_keys(machine, case.redis) == 0, 60, every=1.0)


def build_durable(case: Case) -> dict[str, Any]:
    where = {"redisAddress": f"{case.redis}:6379"}
    fields = {} if case.options is None else {"gcsFaultToleranceOptions": where | case.options}
    document = build_cluster(case.name, [], **fields)
    document["metadata"]["annotations"] = case.annotations or {}
    group = document["spec"]["headGroupSpec"]
    group["rayStartParams"].update(case.params)
    address = [] if case.annotations is None else [{"name": "RAY_REDIS_ADDRESS", "value": where["redisAddress"]}]
    group["template"]["spec"]["containers"][0]["env"] += [*address, *case.env]
    return document


def head_variables(cluster: RealCluster) -> dict[str, dict[str, Any]]:
    (head,) = cluster.pods("head")
    return {variable["name"]: variable for variable in head["spec"]["containers"][0]["env"]}


def find_namespace(cluster: RealCluster) -> str:
    metadata = cluster.get()["metadata"]
    return str(metadata["annotations"].get("ray.io/external-storage-namespace", metadata["uid"]))
