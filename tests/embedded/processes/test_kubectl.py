"""kubectl against ``heliostat apiserver --controllers --simulated-nodes 2``: one process that is a whole Kubernetes."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from embedded.processes.running import Running, ServerProcess

pytestmark = [pytest.mark.slow, pytest.mark.skipif(which("kubectl") is None, reason="kubectl is not installed")]

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: sum, namespace: shop}
spec:
  completions: 3
  parallelism: 2
  template:
    metadata: {annotations: {heliostat.dev/simulate: succeed-after=50ms}}
    spec: {restartPolicy: Never, containers: [{name: a, image: a}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk, namespace: shop}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


class Kubectl:
    def __init__(self, kubeconfig: Path) -> None:
        self._command = ["kubectl", f"--kubeconfig={kubeconfig}"]

    def __call__(self, arguments: str, text: str = "") -> str:
        command = [*self._command, *arguments.split()]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=90, check=False)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    def read(self, arguments: str) -> Any:
        return json.loads(self(f"get -o json {arguments}"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    data = str(tmp_path / "data")
    with ServerProcess(tmp_path, "--data", data, "--controllers", "--simulated-nodes", "2") as running:
        yield running


def test_a_day_of_work_with_kubectl(server: ServerProcess, tmp_path: Path) -> None:
    kubectl = Kubectl(server.kubeconfig)
    assert kubectl("get nodes --no-headers").split()[0:2] == ["node-0", "Ready"]
    kubectl("create namespace shop")
    kubectl("wait --for=create serviceaccount/default -n shop --timeout=60s")

    assert kubectl("create deployment web --image=nginx --replicas=3 -n shop") == "deployment.apps/web created\n"
    rolled_out = kubectl("rollout status deployment/web -n shop --timeout=60s")
    assert rolled_out.endswith('deployment "web" successfully rolled out\n')
    assert kubectl("scale deployment/web --replicas=5 -n shop") == "deployment.apps/web scaled\n"
    kubectl("wait --for=jsonpath={.status.readyReplicas}=5 deployment/web -n shop --timeout=60s")

    assert kubectl("expose deployment/web --port=80 -n shop") == "service/web exposed\n"
    slices = "endpointslices -n shop -l kubernetes.io/service-name=web"
    kubectl(f"wait --for=create {slices} --timeout=60s")
    pods = kubectl.read("pods -n shop")["items"]
    endpoints = [endpoint for one in kubectl.read(slices)["items"] for endpoint in one["endpoints"]]
    assert {endpoint["addresses"][0] for endpoint in endpoints} == {pod["status"]["podIP"] for pod in pods}
    assert {pod["spec"]["nodeName"] for pod in pods} == {"node-0", "node-1"}

    kubectl("apply -f -", JOB)
    assert kubectl("wait --for=condition=complete job/sum -n shop --timeout=60s") == "job.batch/sum condition met\n"
    assert kubectl("get job sum -n shop --no-headers").split()[:3] == ["sum", "Complete", "3/3"]
    kubectl("wait --for=jsonpath={.status.phase}=Bound pvc/disk -n shop --timeout=60s")
    assert len(list((tmp_path / "data" / "volumes").iterdir())) == 1

    assert kubectl("delete namespace shop --timeout=60s") == 'namespace "shop" deleted\n'
    left = subprocess.run(
        ["kubectl", f"--kubeconfig={server.kubeconfig}", "get", "namespace", "shop"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'namespaces "shop" not found' in left.stderr
    assert kubectl.read("pods -A")["items"] == []
    assert server.stop() == 0
    assert "Traceback" not in server.told()


def test_pods_trust_the_server_by_its_own_authority(server: ServerProcess) -> None:
    kubectl = Kubectl(server.kubeconfig)
    kubectl("wait --for=create configmap/kube-root-ca.crt --timeout=60s")
    certificate = kubectl.read("configmap kube-root-ca.crt")["data"]["ca.crt"]
    shown = kubectl("config view --raw --minify -o jsonpath={.clusters[0].cluster.certificate-authority-data}")
    decoded = subprocess.run(["base64", "-d"], input=shown, capture_output=True, text=True, check=True).stdout
    assert certificate == decoded


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--simulated-nodes", "2"), "--simulated-nodes needs --controllers"),
        (("--controllers", "--simulated-nodes", "300"), "room for 256 nodes at most"),
        (("--controllers", "--simulated-nodes", "-1"), "not a number of nodes"),
    ],
)
def test_flags_that_cannot_be_are_told(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    with Running(tmp_path, "apiserver", "apiserver", "--memory", "--port=0", *arguments) as process:
        assert process.wait_ended() == 2
        assert words in process.told()
        assert "Traceback" not in process.told()
