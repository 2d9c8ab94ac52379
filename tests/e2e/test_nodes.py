"""``heliostat up --nodes``: Pods are spread by what nodes pretend to have, and their logs stay when they are gone."""

import json
from pathlib import Path
from typing import Any

from e2e.local_machine import LocalMachine, local_machine, needs_local_machine, wait_for

pytestmark = needs_local_machine

_RESOURCE = "example.com/telescope"


def test_pods_are_spread_over_nodes_by_what_these_pretend_to_have(tmp_path: Path) -> None:
    names = [f"looks-{index}" for index in range(4)]
    (tmp_path / "pods.yaml").write_text("\n---\n".join(json.dumps(_build_pod(name)) for name in names))
    with local_machine(tmp_path / "state") as machine:
        _succeed(
            machine, "up", "--ephemeral", "--nodes=3", f"--node-resources={_RESOURCE}=1", "--node-labels=site=hill"
        )
        _succeed(machine, "apply", "-f", str(tmp_path / "pods.yaml"))
        running = wait_for(lambda: _running_nodes(machine, names, 3), 30)
        nodes = _succeed(machine, "get", "nodes", "-l", "site=hill", "-o", "name").split()
        assert len(set(running.values())) == len(nodes) == 3
        first = next(iter(running))
        _succeed(machine, "delete", f"pod/{first}")
        assert _succeed(machine, "logs", "--all", first) == f"{first} looks\n"
        (gone,) = json.loads(_succeed(machine, "get", f"pod/{first}", "--all", "-o", "json"))["items"]
        assert (gone["status"]["phase"], "heliostat.dev/gone-at" in gone["metadata"]["annotations"]) == ("Failed", True)
        wait_for(lambda: _running_nodes(machine, [name for name in names if name != first], 3), 30)


def _build_pod(name: str) -> dict[str, Any]:
    container = {
        "name": "c",
        "image": "busybox",
        "command": ["sh", "-c", f"echo {name} looks; exec sleep 600"],
        "resources": {"limits": {_RESOURCE: 1}},
    }
    spec = {"containers": [container], "terminationGracePeriodSeconds": 1, "nodeSelector": {"site": "hill"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _running_nodes(machine: LocalMachine, names: list[str], count: int) -> dict[str, str]:
    """The node of each that runs, as soon as so many do; the others wait for what nobody has left."""
    pods = json.loads(_succeed(machine, "get", "pods", *names, "-o", "json"))["items"]
    found = {
        str(pod["metadata"]["name"]): str(pod["spec"]["nodeName"])
        for pod in pods
        if pod["status"]["phase"] == "Running"
    }
    return found if len(found) == count else {}


def _succeed(machine: LocalMachine, *arguments: str) -> str:
    result = machine.heliostat(*arguments)
    assert result.returncode == 0, result.stderr + result.stdout + machine.logs()
    return result.stdout
