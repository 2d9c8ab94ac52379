"""``heliostat plan --against``: files tell of the kinds that they hold, and an edit that Pods do not follow is told."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from heliostat.cli.main import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
AUTOSCALER = EXAMPLES / "raycluster-autoscaler.yaml"


def plan(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["plan", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def render(capsys: pytest.CaptureFixture[str], file: Path) -> list[dict[str, Any]]:
    """What is there when the operator has made everything: the RayCluster and all its objects."""
    main(["render", "-f", str(file), "-o", "json"])
    items: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["items"]
    owner = next(item["metadata"]["ownerReferences"][0] for item in items if item["kind"] == "Pod")
    cluster = yaml.safe_load(file.read_text())
    cluster["metadata"] |= {"uid": owner["uid"], "namespace": "default"}
    return [cluster, *items]


def save(folder: Path, trees: list[dict[str, Any]], name: str = "there.json") -> str:
    path = folder / name
    path.write_text("\n".join(map(json.dumps, trees)))
    return str(path)


def test_kinds_that_the_files_do_not_hold_are_unknown_with_the_line_that_reads_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = [tree for tree in render(capsys, AUTOSCALER) if tree["kind"] in ("RayCluster", "Pod", "Service")]
    code, out, _err = plan(capsys, "-f", str(AUTOSCALER), "--against", save(tmp_path, given))
    assert code == 0
    assert "create " not in out
    assert "NotKnown: Role default/elastic: --against holds no Role\n" in out
    kinds = "secrets,serviceaccounts,jobs,roles,rolebindings,ingresses"
    assert f"kubectl get {kinds} -n default -o yaml" in out


def test_a_kind_of_which_something_was_given_is_known(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    there = [tree for tree in render(capsys, AUTOSCALER) if tree["kind"] != "Ingress"]
    other = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "x"}}
    _code, out, _err = plan(capsys, "-f", str(AUTOSCALER), "--against", save(tmp_path, [*there, other]))
    assert "create  Ingress default/elastic-head-ingress" in out
    assert "NotKnown" not in out


def test_complete_says_that_there_is_nothing_else(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    there = [tree for tree in render(capsys, AUTOSCALER) if tree["kind"] != "Role"]
    _code, out, _err = plan(capsys, "-f", str(AUTOSCALER), "--complete", "--against", save(tmp_path, there))
    assert "create  Role default/elastic" in out
    assert "NotKnown" not in out


def test_without_the_raycluster_nothing_is_said_to_be_taken(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    there = [tree for tree in render(capsys, AUTOSCALER) if tree["kind"] != "RayCluster"]
    _code, out, _err = plan(capsys, "-f", str(AUTOSCALER), "--against", save(tmp_path, there))
    assert "NotKnown: RayCluster default/elastic: --against holds no RayCluster" in out
    assert "kubectl get rayclusters.ray.io" in out
    assert "NameTaken" not in out


def edit(file: Path, folder: Path, **spec: Any) -> str:
    """The image of the head changed, and these fields of the spec."""
    tree = yaml.safe_load(file.read_text())
    tree["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["image"] = "rayproject/ray:2.61.0"
    tree["spec"] |= spec
    return save(folder, [tree], "edited.json")


def stamp(trees: list[dict[str, Any]], version: str) -> list[dict[str, Any]]:
    """As if this version of an operator had made the Pods."""
    for tree in trees:
        if tree["kind"] == "Pod" and "ray.io/kuberay-version" in tree["metadata"].get("annotations", {}):
            tree["metadata"]["annotations"]["ray.io/kuberay-version"] = version
    return trees


@pytest.mark.parametrize("version", ["", "v1.7.0"])
def test_an_edit_that_running_pods_do_not_follow_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, version: str
) -> None:
    there = render(capsys, AUTOSCALER)
    given = save(tmp_path, stamp(there, version) if version else there)
    _code, out, _err = plan(capsys, "-f", edit(AUTOSCALER, tmp_path), "--complete", "--against", given)
    assert "\nNOTES\nthe running Pods will not follow: the spec was changed after the head Pod elastic-head-" in out
    assert "upgradeStrategy.type is Recreate" in out
    _code, out, _err = plan(capsys, "-f", str(AUTOSCALER), "--complete", "--against", given)
    assert "NOTES" not in out


def test_under_recreate_they_follow_unless_another_operator_stamped_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    there = render(capsys, AUTOSCALER)
    edited = edit(AUTOSCALER, tmp_path, upgradeStrategy={"type": "Recreate"})
    _code, out, _err = plan(capsys, "-f", edited, "--complete", "--against", save(tmp_path, there))
    assert "delete  Pod default/elastic-head-" in out
    assert "NOTES" not in out
    given = save(tmp_path, stamp(there, "v1.7.0"))
    _code, out, _err = plan(capsys, "-f", edited, "--complete", "--against", given)
    assert "delete " not in out
    assert "so it is only stamped anew; this ends when the head Pod is deleted" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name documents (-f FILE) or an object of the cluster"),
        (("-f", str(AUTOSCALER), "--complete"), "--complete says something of the files of --against"),
        (("demo", "--from-nothing"), "a name is looked up in the cluster"),
    ],
)
def test_calls_that_cannot_be_meant(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str) -> None:
    code, _out, err = plan(capsys, *arguments)
    assert code == 2
    assert words in err


def test_without_a_cluster_it_says_that_it_read_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HELIOSTAT_STATE", str(tmp_path / "state"))
    code, out, err = plan(capsys, str(AUTOSCALER))
    assert code == 0
    assert err.startswith("planned as if nothing were there: no cluster to talk to")
    assert "create  Role default/elastic" in out


def test_a_cluster_that_is_meant_and_does_not_answer_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = plan(capsys, "-f", str(AUTOSCALER), "--kubeconfig", str(tmp_path / "none"))
    assert (code, out) == (1, "")
    assert "--from-nothing plans as if nothing were there" in err
