"""A cluster that asks everybody for a token: strangers are refused by its dashboard, its owner's jobs run."""

import base64
from pathlib import Path

import msgspec
import pytest

from e2e.clusters import RealCluster, build_cluster, build_group, needs_real_ray
from e2e.local_machine import LocalMachine, local_machine

pytestmark = needs_real_ray

_ASK = """
import sys, urllib.error, urllib.request
headers = {{"Authorization": "Bearer " + sys.argv[1]}} if len(sys.argv) > 1 else {{}}
try:
    request = urllib.request.Request("http://{service}:8265/api/jobs/", headers=headers)
    print("answer", urllib.request.urlopen(request, timeout=60).status)
except urllib.error.HTTPError as error:
    print("answer", error.code)
"""

CLOSED = build_cluster("closed", [build_group(minReplicas=1)], authOptions={"mode": "token"})


def test_strangers_are_refused_and_the_owner_is_not(tmp_path: Path) -> None:
    with local_machine(tmp_path / "state") as machine:
        assert machine.heliostat("up").returncode == 0
        cluster = RealCluster(machine, CLOSED)
        cluster.wait_until_ready()
        cluster.wait_for_workers(1)
        check_pods(cluster)
        token = read_token(machine, "closed")
        assert len(token) >= 32
        assert ask_dashboard(cluster) == 401
        assert ask_dashboard(cluster, "not-the-token") == 403
        assert ask_dashboard(cluster, token) == 200
        run_a_job(cluster)
        with pytest.raises(AssertionError, match="Unauthenticated"):
            run_a_job(cluster, "env", "RAY_AUTH_TOKEN=not-the-token")
        run_a_program(machine, tmp_path)


def check_pods(cluster: RealCluster) -> None:
    for pod in (*cluster.pods("head"), *cluster.pods("worker")):
        variables = {variable["name"]: variable for variable in pod["spec"]["containers"][0]["env"]}
        assert variables["RAY_AUTH_MODE"]["value"] == "token"
        secret = variables["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"]
        assert (secret["name"], secret["key"]) == (cluster.name, "auth_token")


def read_token(machine: LocalMachine, name: str) -> str:
    secret = msgspec.json.decode(machine.kubectl("get", "secret", name, "-o", "json"))
    return base64.b64decode(secret["data"]["auth_token"]).decode()


def ask_dashboard(cluster: RealCluster, *token: str) -> int:
    """From a worker, through the head's service."""
    worker = cluster.pods("worker")[0]["metadata"]["name"]
    program = _ASK.format(service=f"{cluster.name}-head-svc")
    words = cluster.machine.kubectl("exec", worker, "-c", "ray-worker", "--", "python", "-c", program, *token)
    return int(words.rpartition("answer ")[2])


def run_a_job(cluster: RealCluster, *prefix: str) -> None:
    task = "import ray; ray.init(); print('the sum is', ray.get(ray.remote(lambda: 6 * 7).remote()))"
    submit = ("ray", "job", "submit", "--address=http://127.0.0.1:8265", "--", "python", "-c", task)
    words = cluster.machine.kubectl("exec", cluster.head(), "-c", "ray-head", "--", *prefix, *submit, seconds=240.0)
    assert "the sum is 42" in words


def run_a_program(machine: LocalMachine, place: Path) -> None:
    """``heliostat run`` finds the token by itself."""
    (place / "program").mkdir()
    (place / "program" / "hello.py").write_text("print('let in', flush=True)\n")
    (place / "cluster.yaml").write_bytes(msgspec.json.encode(CLOSED))
    arguments = (str(place / "cluster.yaml"), "--keep", f"--working-dir={place / 'program'}")
    result = machine.heliostat("run", *arguments, "--", "python", "hello.py")
    assert "let in" in result.stdout, result.stderr + result.stdout
    assert result.returncode == 0
