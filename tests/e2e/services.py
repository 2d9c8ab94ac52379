"""RayServices for tests with real Serve: a document small enough for a loaded machine, and what a test asks of it."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from e2e.clusters import apply, build_cluster, find_condition, is_pod_ready
from e2e.fruit_stand import FRUIT_STAND, serve_config
from e2e.local_machine import LocalMachine, wait_for

READY_SECONDS = 600.0  # a machine that does other things as well starts Ray in minutes
CHANGE_SECONDS = 300.0

Tree = dict[str, Any]

STAND_CODE: Tree = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "stand"},
    "data": {"stand.py": FRUIT_STAND},
}


def build_service(version: str = "1", price: int = 3, *, name: str = "stand", **fields: Any) -> Tree:
    """Head alone: it runs the applications, and its own proxy answers for them. ``cluster`` are fields of its spec."""
    spec = build_cluster("unnamed", fields.pop("groups", []), **fields.pop("cluster", {}))["spec"]
    spec["headGroupSpec"]["rayStartParams"] = {"num-cpus": "2"}
    annotations = fields.pop("annotations", {})
    for template in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        _give_code(template["template"]["spec"], version)
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "serveConfigV2": serve_config(price),
            "rayClusterDeletionDelaySeconds": 5,
            "rayClusterConfig": spec,
            **fields,
        },
    }


def _give_code(pod: Tree, version: str) -> None:
    pod["volumes"] = [{"name": "code", "configMap": {"name": "stand"}}]
    container = pod["containers"][0]
    container["volumeMounts"] = [{"name": "code", "mountPath": "/home/ray/code"}]
    extra = {"PYTHONPATH": "/home/ray/code", "STAND_VERSION": version}
    container["env"] = [*container.get("env", []), *({"name": key, "value": value} for key, value in extra.items())]


class RealService:
    """A RayService on a local machine, asked as a person would ask."""

    def __init__(self, machine: LocalMachine, document: Tree) -> None:
        self.machine = machine
        self.name: str = document["metadata"]["name"]
        apply(machine, STAND_CODE, document)

    def apply(self, document: Tree) -> None:
        apply(self.machine, document)

    def get(self) -> Tree:
        tree: Tree = json.loads(self.machine.kubectl("get", "rayservice", self.name, "-o", "json"))
        return tree

    def status(self) -> Tree:
        return self.get().get("status") or {}

    def condition(self, type_: str) -> tuple[str, str]:
        return find_condition(self.status(), type_)

    def active(self) -> str:
        return str((self.status().get("activeServiceStatus") or {}).get("rayClusterName", ""))

    def pending(self) -> str:
        return str((self.status().get("pendingServiceStatus") or {}).get("rayClusterName", ""))

    def clusters(self) -> list[str]:
        return [line.rpartition("/")[2] for line in self.machine.kubectl("get", "rayclusters", "-o", "name").split()]

    def patch(self, spec: Tree) -> None:
        self.machine.kubectl("patch", "rayservice", self.name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def head(self) -> Tree:
        """The head Pod of the active cluster, once there is exactly one that stays."""
        return wait_for(self._only_head, CHANGE_SECONDS, every=1.0)

    def _only_head(self) -> Tree:
        selector = f"ray.io/cluster={self.active()},ray.io/node-type=head"
        pods: list[Tree] = json.loads(self.machine.kubectl("get", "pods", "-l", selector, "-o", "json"))["items"]
        staying = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        return staying[0] if len(staying) == 1 else {}

    def ask(self, path: str, cluster: str = "") -> Tree:
        """Through the API server's proxy of the serve Service, or of a cluster's own where requests move in steps."""
        where = f"/api/v1/namespaces/default/services/{cluster or self.name}-serve-svc:serve/proxy{path}"
        answer: Tree = json.loads(self.machine.kubectl("get", "--raw", where))
        return answer

    def answers(self, path: str, wanted: Tree) -> bool:
        try:
            return self.ask(path) == wanted
        except (AssertionError, json.JSONDecodeError):
            return False

    def wait_until_ready(self) -> None:
        self.wait(lambda: self.status().get("serviceStatus") == "Running", READY_SECONDS)

    def wait_for_answer(self, path: str, wanted: Tree, seconds: float = CHANGE_SECONDS) -> None:
        self.wait(lambda: self.answers(path, wanted), seconds)

    def wait(self, look: Callable[[], bool], seconds: float = CHANGE_SECONDS) -> None:
        try:
            wait_for(look, seconds, every=1.0)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.describe()}") from None

    def hold(self, look: Callable[[], bool], seconds: float) -> None:
        """It is so all the time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert look(), self.describe()
            time.sleep(1.0)

    def is_head_ready(self) -> bool:
        head = self._only_head()
        return bool(head) and is_pod_ready(head)

    def describe(self) -> str:
        """For messages of tests that failed."""
        pods = self.machine.kubectl("get", "pods", "-o", "wide", "--show-labels")
        events = self.machine.kubectl("get", "events")
        told = self.machine.heliostat("explain", f"rayservice/{self.name}").stdout
        return "\n".join((json.dumps(self.status(), indent=1), told, pods, events[-4000:], self.machine.logs()))

    def delete(self) -> None:
        self.machine.kubectl("delete", "rayservice", self.name, "--timeout=120s")
        self.wait(lambda: self.clusters() == [])


@contextmanager
def serving(machine: LocalMachine, document: Tree) -> Iterator[RealService]:
    """Gone afterwards, so that the next one has the machine for itself."""
    service = RealService(machine, document)
    try:
        yield service
    finally:
        service.delete()
