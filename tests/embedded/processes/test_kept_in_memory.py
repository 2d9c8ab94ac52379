"""A server that keeps nothing still has volumes for the node beside it: what ``heliostat up --ephemeral`` starts."""

from pathlib import Path

import pytest

from embedded.processes.http_api import HttpApi
from embedded.processes.running import ServerProcess, wait_until

pytestmark = pytest.mark.slow

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def test_a_claim_gets_its_directory(tmp_path: Path) -> None:
    arguments = ("--memory", "--controllers", f"--data={tmp_path}/data", f"--node-socket={tmp_path}/node.sock")
    with ServerProcess(tmp_path, *arguments) as server, HttpApi(server.kubeconfig) as api:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "spec": spec}
        api.post(CLAIMS, claim)
        wait_until(lambda: api.get(f"{CLAIMS}/a")["status"].get("phase") == "Bound", "the claim is bound")
        (directory,) = (tmp_path / "data" / "volumes").iterdir()
        assert directory.is_dir()
