"""The life of a RayCluster by hand: apply, explain, get, delete, with the operator and simulated nodes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cli.ray_kubernetes import operator_in_thread
from cli.typed_commands import Commands, example, write
from embedded.processes.running import wait_until
from heliostat.testing import ApiServer, api_server_in_thread

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server_in_thread(nodes=1) as running, operator_in_thread(running.kubeconfig) as problems:
        yield running
        assert problems == []


@pytest.fixture
def run(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(server.kubeconfig, capsys)


def test_from_apply_over_explain_and_get_to_delete(run: Commands, tmp_path: Path) -> None:
    file = write(tmp_path, example("life"))
    assert run("apply", "-f", file) == (0, "raycluster.ray.io/life created\n", "")
    wait_until(lambda: run("explain", "raycluster/life")[0] == 0, lambda: run("explain", "raycluster/life")[1])
    _code, out, _err = run("explain", "raycluster", "life")
    assert out.startswith("RayCluster default/life is ready: 1 head and 1 worker\n")
    assert "node-0" in out
    code, out, _err = run("get")
    assert code == 0
    assert "RayCluster default/life: ready, 1 of 1 workers" in out
    assert "life-head-" in out
    code, out, _err = run("delete", "-f", file)
    assert (code, out.splitlines()[-1]) == (0, "raycluster.ray.io/life is gone")
    assert run("get", "pods", "-l", "ray.io/cluster=life") == (0, "", "no pods in namespace default\n")


def test_what_a_cluster_depends_on_goes_when_the_cluster_is_gone(run: Commands, tmp_path: Path) -> None:
    """In whichever order they stand in the file."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "redis"}}
    file = write(tmp_path, yaml.safe_dump_all([example("first"), secret]))
    assert run("apply", "-f", file)[0] == 0
    code, out, _err = run("delete", "-f", file)
    told = ["raycluster.ray.io/first is gone", "secret/redis is being deleted", "secret/redis is gone"]
    assert (code, out.splitlines()[-3:]) == (0, told)


def test_a_cluster_that_asks_too_much_is_explained(run: Commands, tmp_path: Path) -> None:
    gpus = example("greedy", resources={"limits": {"nvidia.com/gpu": "4", "cpu": "1", "memory": "1Gi"}})
    assert run("apply", "-f", write(tmp_path, gpus))[0] == 0
    wait_until(lambda: "Insufficient" in run("explain", "raycluster/greedy")[1], "the scheduler says nothing")
    code, out, _err = run("explain", "raycluster/greedy")
    assert code == 1
    assert "of group workers is not ready: Unschedulable" in out
    assert "why: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu." in out
    assert "fix: ask for less" in out
    pod = next(word for word in out.split() if word.startswith("greedy-workers-worker-"))
    assert run("explain", f"pod/{pod}")[1].startswith(f"Pod default/{pod} is not ready\n")
    assert run("delete", "raycluster/greedy", "--no-wait") == (0, "raycluster.ray.io/greedy deleted\n", "")


def test_a_quota_in_the_way_is_explained(run: Commands, tmp_path: Path) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"pods": "1"}},
    }
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tight"}}
    file = write(tmp_path, "---\n".join(yaml.safe_dump(each) for each in (quota, space, example("tight"))))
    code, out, _err = run("apply", "-f", file, "-n", "tight")
    assert code == 0
    assert out.splitlines()[0] == "namespace/tight created"

    def told() -> str:
        return run("explain", "raycluster/tight", "-n", "tight")[1]

    wait_until(lambda: "exceeded quota" in told(), told)
    assert "fix: raise the ResourceQuota of the namespace, or ask for less" in told()


def test_an_edit_is_planned_against_the_live_cluster(run: Commands, tmp_path: Path) -> None:
    scaling = example("planned")
    scaling["spec"]["enableInTreeAutoscaling"] = True
    file = write(tmp_path, scaling)
    assert run("apply", "-f", file)[0] == 0
    wait_until(lambda: run("explain", "planned")[0] == 0, lambda: run("explain", "planned")[1])
    code, out, err = run("plan", "-f", file)
    assert (code, err) == (0, "")
    assert "create " not in out
    assert "NOTES" not in out
    scaling["spec"]["workerGroupSpecs"][0] |= {"minReplicas": 2, "replicas": 2}
    scaling["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "b"}]
    _code, out, _err = run("plan", "-f", write(tmp_path, scaling, "edited.yaml"))
    assert out.count("create  Pod default/planned-workers-worker-") == 1
    assert "the running Pods will not follow" in out
    _code, out, _err = run("plan", "planned")
    assert out.startswith("# RayCluster planned\nnothing to do")
    assert run("delete", "planned", "--no-wait")[1] == "raycluster.ray.io/planned deleted\n"


@pytest.mark.parametrize("command", ["get", "explain", "delete"])
def test_a_name_alone_or_a_file_says_which_object_is_meant(run: Commands, tmp_path: Path, command: str) -> None:
    file = write(tmp_path, example(f"named-{command}"))
    assert run("apply", file)[0] == 0
    extra = ("--no-wait",) if command == "delete" else ()
    by_file, by_name = ((command, "-f", file, *extra), (command, f"named-{command}", *extra))
    for call in (by_name, by_file, (command, file)) if command != "delete" else (by_name,):
        _code, out, err = run(*call)
        assert f"named-{command}" in out, err
    code, _out, err = run(command, "named-x")
    assert code == 1
    assert "named-x" in err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("get", "typd"), 1, "'typd' is not a kind (heliostat get --kinds lists them), and there is no RayCluster"),
        (("get", "typd"), 1, "did you mean typed?"),
        (("get", "pods", "-n", "defualt"), 0, "no such namespace; did you mean default?"),
        (("get", "pods", "-l", "a in"), 2, "--selector: the selector 'a in' has the end where '(' should be"),
        (("logs", "raycluster", "typd"), 1, "there is no RayCluster 'typd' in namespace default; did you mean typed?"),
        (("logs", "typed-head"), 1, "did you mean typed-head-"),
        (("logs", "typed", "other"), 2, "is more than one target; name one RayCluster or Pod"),
        (("exec", "typed", "ls"), 2, "no command: write heliostat exec typed -- ls"),
        (("exec", "-it", "typed", "--", "sh"), 1, "the server does not reach the Pod's node (500)"),
        (("delete", "raycluster/typd"), 1, "there is no RayCluster 'typd' in namespace default; did you mean typed?"),
        (("delete", "raycluster"), 2, "'raycluster' is a kind and names no object; write raycluster/NAME"),
        (("plan", "pod/x"), 1, "only RayClusters are planned; heliostat explain pod/x tells how it is"),
    ],
)
def test_mistakes_are_answered_with_what_was_meant(
    run: Commands, tmp_path: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    if run("get", "typed")[0] != 0:
        assert run("apply", "-f", write(tmp_path, example("typed")))[0] == 0
    wait_until(lambda: run("explain", "typed")[0] == 0, lambda: run("explain", "typed")[1])
    found, _out, err = run(*words)
    assert (found, told in err) == (code, True), err


def test_several_objects_of_several_kinds_are_shown_together(run: Commands, tmp_path: Path) -> None:
    assert run("apply", "-f", write(tmp_path, example("several")))[0] == 0
    wait_until(lambda: run("get", "svc/several-head-svc")[0] == 0, "there is no head service")
    code, out, _err = run("get", "raycluster/several", "svc/several-head-svc", "-o", "name")
    assert (code, out.split()) == (0, ["raycluster.ray.io/several", "service/several-head-svc"])
    assert run("delete", "raycluster", "several", "--no-wait")[0] == 0


def test_a_name_that_two_objects_have_is_asked_back(run: Commands, tmp_path: Path) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "twice"},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    file = write(tmp_path, "---\n".join(yaml.safe_dump(each) for each in (pod, example("twice"))))
    assert run("apply", "-f", file)[0] == 0
    code, _out, err = run("delete", "twice")
    assert code == 1
    assert "'twice' names more than one object; write raycluster/twice or pod/twice" in err
    assert run("delete", "-f", file, "--no-wait")[0] == 0


def test_what_is_in_the_cluster_is_validated_and_rendered_by_its_name(run: Commands, tmp_path: Path) -> None:
    assert run("apply", "-f", write(tmp_path, example("by-name")))[0] == 0
    assert run("validate", "by-name") == (0, "", "1 document, no problems\n")
    code, out, _err = run("render", "raycluster/by-name")
    assert (code, "name: by-name-head-svc" in out) == (0, True)
    assert "did you mean by-name?" in run("render", "by-nme")[2]
    assert run("delete", "by-name", "--no-wait")[0] == 0
