"""RayClusters for tests with real Ray: documents small enough for a loaded machine, and what a test asks of them."""

import subprocess
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from e2e.local_machine import LocalMachine, needs_local_machine, wait_for

needs_real_ray = [*needs_local_machine, pytest.mark.e2e]

IMAGE = "rayproject/ray:2.60.0"
READY_SECONDS = 240.0
CHANGE_SECONDS = 180.0

# Ray gives its own processes half a minute to begin: too little for a machine that does other things as well.
_PATIENCE = {
    "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "240",
    "RAY_agent_register_timeout_ms": "240000",
    "RAY_gcs_server_port_wait_time_s": "120",
}

_CREATE_ACTORS = """
import ray
ray.init(namespace="tests", log_to_driver=False)
@ray.remote(**{options})
class Counter:
    def __init__(self):
        self.value = 0
    def increase(self):
        self.value += 1
        return self.value
for name in {names!r}:
    Counter.options(name=name, lifetime="detached", max_restarts=-1, max_task_retries=-1).remote()
"""

_CALL_ACTOR = """
import ray
ray.init(namespace="tests", log_to_driver=False)
print("counter is", ray.get(ray.get_actor({name!r}).increase.remote(), timeout=120))
"""

_KILL_ACTORS = """
import ray
ray.init(namespace="tests", log_to_driver=False)
for name in {names!r}:
    ray.kill(ray.get_actor(name))
"""


def build_group(name: str = "workers", *, replicas: int = 1, **fields: Any) -> dict[str, Any]:
    """``pod`` are fields of the workers' Pods, ``limits`` further limits of Ray's container in them."""
    container = _container("ray-worker")
    container["resources"]["limits"].update(fields.pop("limits", {}))
    metadata = fields.pop("metadata", {})
    return {
        "groupName": name,
        "replicas": replicas,
        "minReplicas": fields.pop("minReplicas", 0),
        "maxReplicas": fields.pop("maxReplicas", 3),
        "rayStartParams": fields.pop("rayStartParams", {"num-cpus": "1"}),
        "template": {"metadata": metadata, "spec": {**fields.pop("pod", {}), "containers": [container]}},
        **fields,
    }


def build_cluster(name: str, groups: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """``head`` are fields of the head's Pod; the head itself takes no work."""
    head = {"containers": [_container("ray-head")], **fields.pop("head", {})}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"rayStartParams": {"num-cpus": "0"}, "template": {"spec": head}},
            "workerGroupSpecs": groups,
            **fields,
        },
    }


def _container(name: str) -> dict[str, Any]:
    resources = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
    environment = [{"name": name, "value": value} for name, value in _PATIENCE.items()]
    return {"name": name, "image": IMAGE, "env": environment, "resources": resources}


class RealCluster:
    """A RayCluster on a local machine, asked as a person would ask."""

    def __init__(self, machine: LocalMachine, document: dict[str, Any]) -> None:
        self.machine = machine
        self.name: str = document["metadata"]["name"]
        apply(machine, document)

    def get(self) -> dict[str, Any]:
        tree: dict[str, Any] = msgspec.json.decode(self.machine.kubectl("get", "raycluster", self.name, "-o", "json"))
        return tree

    def status(self) -> dict[str, Any]:
        return self.get().get("status") or {}

    def condition(self, type_: str) -> tuple[str, str]:
        """Its status and its reason; twice nothing while there is none."""
        return find_condition(self.status(), type_)

    def pods(self, node_type: str, group: str = "") -> list[dict[str, Any]]:
        """Those that are not on their way out."""
        return [tree for tree in self.list_pods(node_type, group) if "deletionTimestamp" not in tree["metadata"]]

    def list_pods(self, node_type: str, group: str = "") -> list[dict[str, Any]]:
        """With those that are on their way out."""
        labels = f"ray.io/cluster={self.name},ray.io/node-type={node_type}" + (
            f",ray.io/group={group}" if group else ""
        )
        trees: list[dict[str, Any]] = msgspec.json.decode(
            self.machine.kubectl("get", "pods", "-l", labels, "-o", "json")
        )["items"]
        return trees

    def replicas(self, group: int = 0) -> int:
        """What the spec asks for."""
        return int(self.get()["spec"]["workerGroupSpecs"][group]["replicas"])

    def patch(self, *operations: dict[str, Any]) -> None:
        text = msgspec.json.encode(operations).decode()
        self.machine.kubectl("patch", "raycluster", self.name, "--type=json", "-p", text)

    def replace(self, path: str, value: object) -> None:
        self.patch({"op": "replace", "path": path, "value": value})

    def wait_until_ready(self) -> None:
        """What the operator says, and what is so: it hears of a head that restarts a moment later."""

        def is_ready() -> bool:
            tree = self.get()
            status = tree.get("status") or {}
            is_current = status.get("observedGeneration") == tree["metadata"]["generation"]
            is_said = status.get("state") == "ready" and find_condition(status, "HeadPodReady")[0] == "True"
            return is_current and is_said and [is_pod_ready(pod) for pod in self.pods("head")] == [True]

        self.wait(is_ready, READY_SECONDS)

    def use_groups(self, *groups: dict[str, Any]) -> None:
        """In place of those that it has, which lose their Pods first: without its group a Pod would stay.

        By our hand, because an autoscaler would let them be idle for a while.
        """
        there = range(len(self.get()["spec"]["workerGroupSpecs"]))
        paths = [f"/spec/workerGroupSpecs/{index}/{name}" for index in there for name in ("minReplicas", "replicas")]
        self.patch(*({"op": "replace", "path": path, "value": 0} for path in paths))
        for pod in self.list_pods("worker"):
            self.machine.kubectl("delete", "pod", pod["metadata"]["name"], "--wait=false", "--ignore-not-found")
        self.wait(lambda: self.list_pods("worker") == [])
        self.replace("/spec/workerGroupSpecs", list(groups))

    def wait_for_workers(self, wanted: int, group: str = "", *, seconds: float = CHANGE_SECONDS) -> None:
        """As many as wanted, and all of them ready."""

        def are_there() -> bool:
            pods = self.pods("worker", group)
            return len(pods) == wanted and all(is_pod_ready(pod) for pod in pods)

        self.wait(are_there, seconds)

    def wait(self, look: Callable[[], bool], seconds: float = CHANGE_SECONDS) -> None:
        """A kubectl costs as much as a Ray task: looked at once in a second."""
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

    def describe(self) -> str:
        """For messages of tests that failed."""
        pods = self.machine.kubectl("get", "pods", "-o", "wide")
        events = self.machine.kubectl("get", "events")
        return "\n".join((str(self.status()), pods, events[-4000:], self.machine.logs()))

    def head(self) -> str:
        """The name of the head Pod, once there is exactly one."""
        return str(wait_for(self._only_head, CHANGE_SECONDS, every=1.0))

    def _only_head(self) -> str:
        pods = self.pods("head")
        return pods[0]["metadata"]["name"] if len(pods) == 1 else ""

    def replace_head(self) -> None:
        """Its Pod is deleted; the operator makes another."""
        name = self.head()
        self.machine.kubectl("delete", "pod", name, "--timeout=120s")
        self.wait(lambda: self.head() != name)
        self.wait_until_ready()

    def python(self, program: str, *, seconds: float = 180.0) -> str:
        """What a program prints that runs in the head Pod."""
        return self.machine.kubectl(
            "exec", self.head(), "-c", "ray-head", "--", "python", "-c", program, seconds=seconds
        )

    def create_actors(self, *names: str, **options: Any) -> None:
        """Each wants a CPU, unless the options say otherwise."""
        self.python(_CREATE_ACTORS.format(names=names, options=options or {"num_cpus": 1}))

    def call_actor(self, name: str) -> int:
        return int(self.python(_CALL_ACTOR.format(name=name)).rpartition("counter is ")[2])

    def kill_actors(self, *names: str) -> None:
        self.python(_KILL_ACTORS.format(names=names))


def find_condition(status: dict[str, Any], type_: str) -> tuple[str, str]:
    found = (each for each in status.get("conditions") or [] if each["type"] == type_)
    return next(((each["status"], each["reason"]) for each in found), ("", ""))


def is_pod_ready(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def apply(machine: LocalMachine, *documents: dict[str, Any]) -> None:
    text = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": documents})
    result = subprocess.run(
        ["kubectl", "apply", "-f", "-"],
        env=machine.environment, input=text, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr.decode()
