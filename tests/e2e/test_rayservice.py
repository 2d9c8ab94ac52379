"""RayServices with real Serve on this machine: from YAML to an answer, and on to another version (e2e-scenarios.md §5).

One service lives through it all: it comes up, takes another configuration in place, and moves to a new cluster while
somebody keeps asking it.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from e2e.clusters import build_cluster, needs_real_ray
from e2e.fruit_stand import FRUIT_STAND, serve_config
from e2e.local_machine import LocalMachine, local_machine, wait_for
from heliostat.local.session import open_session
from heliostat.runtime.errors import ApiError
from heliostat.runtime.transport import Call, Reply, Transport

pytestmark = needs_real_ray

READY_SECONDS = 240.0
EVERY = 0.2  # seconds between two requests
STAND = "/api/v1/namespaces/default/services/stand-serve-svc:serve/proxy"

Tree = dict[str, Any]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMachine]:
    with local_machine(tmp_path_factory.mktemp("rayservices") / "state") as found:
        assert found.heliostat("up").returncode == 0
        yield found


def build_service(version: str, price: int) -> Tree:
    """Head alone: it runs the applications, and its own proxy answers for them."""
    spec = build_cluster("unnamed", [])["spec"]
    head = spec["headGroupSpec"]
    head["rayStartParams"] = {"num-cpus": "2"}
    pod = head["template"]["spec"]
    pod["volumes"] = [{"name": "code", "configMap": {"name": "stand"}}]
    (container,) = pod["containers"]
    container["volumeMounts"] = [{"name": "code", "mountPath": "/home/ray/code"}]
    extra = {"PYTHONPATH": "/home/ray/code", "STAND_VERSION": version}
    container["env"] = [*container.get("env", []), *({"name": key, "value": value} for key, value in extra.items())]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": {"name": "stand"},
        "spec": {
            "serveConfigV2": serve_config(price),
            "rayClusterDeletionDelaySeconds": 5,
            "rayClusterConfig": spec,
        },
    }


def apply(machine: LocalMachine, path: Path, *trees: Tree) -> None:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": trees}))
    machine.kubectl("apply", "-f", str(path))


def read_status(machine: LocalMachine) -> Tree:
    service: Tree = json.loads(machine.kubectl("get", "rayservice", "stand", "-o", "json"))
    return service.get("status") or {}


def active_cluster(status: Tree) -> str:
    return str(status.get("activeServiceStatus", {}).get("rayClusterName", ""))


def ask(machine: LocalMachine, path: str) -> Tree:
    answer: Tree = json.loads(machine.kubectl("get", "--raw", f"{STAND}{path}"))
    return answer


def is_asked(machine: LocalMachine, path: str, wanted: Tree) -> bool:
    try:
        return ask(machine, path) == wanted
    except (AssertionError, json.JSONDecodeError):
        return False


def test_a_service_comes_up_changes_in_place_and_moves_to_a_new_cluster_unnoticed(
    machine: LocalMachine, tmp_path: Path
) -> None:
    code = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "stand"},
        "data": {"stand.py": FRUIT_STAND},
    }
    file = tmp_path / "stand.json"
    apply(machine, file, code, build_service("1", 3))
    wait_for(lambda: read_status(machine).get("serviceStatus") == "Running", READY_SECONDS, every=1.0)
    assert ask(machine, "/fruit?amount=2") == {"cost": 6, "version": "1"}
    assert ask(machine, "/calc?factors=5,3") == {"product": 15, "version": "1"}
    first = active_cluster(read_status(machine))

    apply(machine, file, build_service("1", 4))
    wait_for(lambda: is_asked(machine, "/fruit?amount=2", {"cost": 8, "version": "1"}), 60, every=1.0)
    assert active_cluster(read_status(machine)) == first

    configured = list_configured(machine)
    _restart_operator(machine, first)
    assert list_configured(machine) == configured, "a restart sends nothing that runs already"

    told = asyncio.run(_upgrade_under_requests(machine, file, first))
    failed = [each for each in told if not each.startswith("version")]
    assert failed == []
    assert told[-1] == "version 2"
    assert "version 1" in told
    assert told.index("version 2") == len(told) - told.count("version 2"), "no answer of before after the move"
    wait_for(lambda: first not in machine.kubectl("get", "rayclusters", "-o", "name"), 60, every=1.0)


def _restart_operator(machine: LocalMachine, cluster: str) -> None:
    """It is at work again when it has asked the head's proxy and put back the label that we take away."""
    machine.kill("operator")
    selector = f"ray.io/cluster={cluster},ray.io/node-type=head"
    machine.kubectl("label", "pod", "-l", selector, "ray.io/serve=false", "--overwrite")

    def is_labelled() -> bool:
        return bool(machine.kubectl("get", "pod", "-l", f"{selector},ray.io/serve=true", "-o", "name").strip())

    wait_for(is_labelled, 60, every=0.5)
    wait_for(lambda: is_asked(machine, "/fruit?amount=1", {"cost": 4, "version": "1"}), 60, every=0.5)


def list_configured(machine: LocalMachine) -> list[str]:
    """The events that tell of a configuration for Serve: each life of the operator begins one of its own."""
    return machine.kubectl("get", "events", "--field-selector", "reason=UpdatedServeApplications", "-o", "name").split()


async def _upgrade_under_requests(machine: LocalMachine, file: Path, first: str) -> list[str]:
    told: list[str] = []
    async with _asking(machine.state.kubeconfig, told):
        await asyncio.to_thread(apply, machine, file, build_service("2", 4))

        def has_moved() -> bool:
            return active_cluster(read_status(machine)) not in ("", first)

        await asyncio.to_thread(wait_for, has_moved, READY_SECONDS, every=1.0)
        await asyncio.sleep(10)  # until the former cluster is gone, and beyond
    return told


@asynccontextmanager
async def _asking(kubeconfig: Path, told: list[str]) -> AsyncIterator[None]:
    """Requests in a steady rhythm, whether the ones before were answered or not."""
    async with open_session(kubeconfig) as session:
        asking = asyncio.create_task(_ask_on(session.transport, told))
        try:
            yield
        finally:
            asking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asking


async def _ask_on(transport: Transport, told: list[str]) -> None:
    async with asyncio.TaskGroup() as group:
        while True:
            group.create_task(_ask_once(transport, told))
            await asyncio.sleep(EVERY)


async def _ask_once(transport: Transport, told: list[str]) -> None:
    call = Call(method="GET", path=f"{STAND}/fruit", query=(("amount", "1"),))
    try:
        reply: Reply = await transport.send(call, 30.0)
    except ApiError as error:
        told.append(f"failed: {error}")
        return
    try:
        told.append(f"version {msgspec.json.decode(reply.body)['version']}")
    except (msgspec.DecodeError, KeyError):
        told.append(f"failed: {reply.status} {reply.body[:200]!r}")
