"""apply, get, explain and delete as a person types them, against a server where nothing works on them."""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cli.typed_commands import Commands, example, write
from heliostat.cli.main import main
from heliostat.cli.scenes import find_local_operator, is_held
from heliostat.explain.scene import OperatorPresence
from heliostat.kube.timestamps import parse_timestamp
from heliostat.local.state import ChildStatus, State, SupervisorStatus
from heliostat.testing import ApiServer, api_server_in_thread

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: '1'}\n"


@pytest.fixture(scope="module")
def bare() -> Iterator[ApiServer]:
    """Without nodes, operator and definitions."""
    with api_server_in_thread() as running:
        yield running


@pytest.fixture
def run(bare: ApiServer, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(bare.kubeconfig, capsys)


class TestApply:
    def test_it_says_what_became_of_each_document(self, run: Commands, tmp_path: Path) -> None:
        file = write(tmp_path, CONFIG_MAP)
        assert run("apply", "-f", file)[1] == "configmap/settings created\n"
        assert run("apply", "-f", file)[1] == "configmap/settings unchanged\n"
        changed = write(tmp_path, CONFIG_MAP.replace("'1'", "'2'"))
        assert run("apply", "-f", changed, "--dry-run")[1] == "configmap/settings unchanged (dry run)\n"
        assert run("apply", "-f", changed)[1] == "configmap/settings configured\n"

    def test_a_refused_document_keeps_all_others_out(self, run: Commands, tmp_path: Path) -> None:
        wrong = example("wrong")
        wrong["spec"]["workerGroupSpecs"][0]["minReplicas"] = -1
        wrong_text = CONFIG_MAP.replace("settings", "never") + "---\n" + yaml.safe_dump(wrong)
        code, out, err = run("apply", "-f", write(tmp_path, wrong_text))
        assert (code, out) == (1, "")
        assert "error: spec.workerGroupSpecs[0].minReplicas" in err
        assert "nothing was applied" in err
        assert run("get", "configmap/never")[0] == 1

    def test_definitions_and_their_objects_in_one_go(
        self, run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = write(tmp_path, example("early"))
        code, _out, err = run("apply", "-f", file)
        assert code == 1
        assert "its definition is not installed; heliostat crds | heliostat apply -f -" in err
        for command in (("explain", "raycluster/early"), ("get",), ("get", "rayclusters.ray.io")):
            assert run(*command)[2].endswith("it is not installed; heliostat crds | heliostat apply -f -\n")
        main(["crds", "--slim"])
        text = Path(file).read_text() + "---\n" + capsys.readouterr().out
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        code, out, err = run("apply", "-f", "-")
        assert (code, err) == (0, "")
        assert out.splitlines()[-1] == "raycluster.ray.io/early created"
        code, out, _err = run("explain", "raycluster/early")
        assert code == 1
        assert "1. no operator seems to be running" in out
        assert "create Pod default/early-head-" in out

    def test_a_field_of_somebody_else_is_not_taken_in_silence(self, run: Commands, tmp_path: Path) -> None:
        text = CONFIG_MAP.replace("settings", "shared")
        run("apply", "-f", write(tmp_path, text))
        taken = text.replace("'1'", "'9'")
        file = write(tmp_path, taken)
        code, _out, err = run("apply", "-f", file, "--field-manager", "another")
        assert code == 1
        assert "--force-conflicts takes the fields over" in err
        assert run("apply", "-f", file, "--field-manager", "another", "--force-conflicts")[0] == 0

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("apiVersion: v1\nkind: ConfigMp\nmetadata: {name: a}\n", "did you mean ConfigMap?"),
            ("apiVersion: batch/v1\nkind: ConfigMap\nmetadata: {name: a}\n", "it serves v1"),
            ("kind: ConfigMap\nmetadata: {name: a}\n", "no apiVersion or no kind"),
            ("apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", "has no metadata.name"),
            ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: nowhere}\n", "not found"),
            ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n", "spec.containers"),
        ],
    )
    def test_bad_documents_get_a_sentence_with_file_and_line(
        self, run: Commands, tmp_path: Path, text: str, words: str
    ) -> None:
        file = write(tmp_path, text)
        code, out, err = run("apply", "-f", file)
        assert (code, out) == (1, "")
        assert err.startswith(f"{file}:1: error: ")
        assert words in err


class TestGet:
    @pytest.fixture(autouse=True)
    def _settings(self, run: Commands, tmp_path: Path) -> None:
        run("apply", "-f", write(tmp_path, CONFIG_MAP))

    def test_tables_of_any_kind(self, run: Commands) -> None:
        code, out, _err = run("get", "cm")
        assert code == 0
        head, *rows = out.splitlines()
        assert head.split() == ["NAME", "DATA", "AGE"]
        assert any(row.split()[:2] == ["settings", "1"] for row in rows)

    def test_names_share_a_table(self, run: Commands) -> None:
        lines = run("get", "namespace", "default", "kube-system")[1].splitlines()
        assert [line.split()[0] for line in lines] == ["NAME", "default", "kube-system"]

    def test_every_namespace_is_named(self, run: Commands) -> None:
        head, *rows = run("get", "configmaps", "-A")[1].splitlines()
        assert head.split()[0] == "NAMESPACE"
        assert any(row.split()[:2] == ["default", "settings"] for row in rows)

    @pytest.mark.parametrize("output", ["yaml", "json"])
    def test_whole_objects(self, run: Commands, output: str) -> None:
        out = run("get", "configmap/settings", "-o", output)[1]
        tree = yaml.safe_load(out)
        tree = tree["items"][0] if output == "json" else tree
        assert (tree["kind"], tree["metadata"]["name"]) == ("ConfigMap", "settings")

    def test_names_alone(self, run: Commands) -> None:
        assert "configmap/settings\n" in run("get", "configmaps", "-o", "name")[1]

    def test_kinds_that_are_served(self, run: Commands) -> None:
        assert ["jobs", "batch/v1", "Job"] in [line.split() for line in run("get", "--kinds")[1].splitlines()]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("configmp",), "did you mean configmap?"),
            (("configmap", "setings"), "did you mean settings?"),
            (("service/nothing",), "there is no Service 'nothing' in namespace default"),
            (("-o", "yaml"), "needs a kind, such as heliostat get raycluster -o yaml"),
            (("raycluster", "x", "-A"), "leave out --all-namespaces"),
        ],
    )
    def test_what_is_not_there_gets_a_hint(self, run: Commands, arguments: tuple[str, ...], words: str) -> None:
        code, out, err = run("get", *arguments)
        assert code in (1, 2)
        assert out == ""
        assert words in err


class TestDelete:
    def test_what_is_not_there(self, run: Commands) -> None:
        code, _out, err = run("delete", "configmap/nothing")
        assert code == 1
        assert err.startswith("heliostat delete: there is no ConfigMap 'nothing' in namespace default; there are: ")
        assert run("delete", "configmap/nothing", "--ignore-not-found") == (0, "", "")

    def test_what_owns_nothing_needs_no_garbage_collector_to_go(self, run: Commands, tmp_path: Path) -> None:
        file = write(tmp_path, CONFIG_MAP.replace("settings", "brief"))
        run("apply", "-f", file)
        lines = "configmap/brief is being deleted\nconfigmap/brief is gone\n"
        assert run("delete", "-f", file, "--timeout", "10") == (0, lines, "")

    def test_something_that_stays_is_told_after_the_deadline(self, run: Commands, tmp_path: Path) -> None:
        held = CONFIG_MAP.replace("{name: settings}", "{name: held, finalizers: [example.com/held]}")
        run("apply", "-f", write(tmp_path, held))
        code, told, err = run("delete", "configmap/held", "--timeout", "0.2")
        assert code == 1
        assert told.splitlines()[-1] == "configmap/held is being deleted; finalizers: example.com/held"
        assert "is still there after 0.2 s; heliostat explain configmap/held tells what holds it up" in err
        code, out, _err = run("explain", "configmap/held")
        assert code == 1
        assert "finalizers are left: " in out

    @pytest.mark.parametrize("arguments", [(), ("configmap",), ("configmap/a", "b"), ("a/b/c",), ("/x",)])
    def test_unclear_targets_are_a_wrong_call(self, run: Commands, arguments: tuple[str, ...]) -> None:
        assert run("delete", *arguments)[0] == 2


class TestReachingTheCluster:
    @pytest.mark.parametrize(
        "command", [("get",), ("explain", "pod/x"), ("logs", "x"), ("exec", "x", "--", "true"), ("delete", "pod/x")]
    )
    def test_a_cluster_that_is_down_is_one_sentence(
        self, command: tuple[str, ...], bare: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        config = yaml.safe_load(bare.kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
        monkeypatch.setenv("KUBECONFIG", write(tmp_path, config))
        assert main(list(command)) == 1
        err = capsys.readouterr().err
        assert len(err.splitlines()) == 1
        assert "127.0.0.1:1" in err
        assert "Connect call failed" in err or "refused" in err
        assert "SSLContext" not in err
        assert err.endswith("heliostat up starts a cluster on this machine\n")

    def test_no_kubeconfig_at_all(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("KUBECONFIG", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("HELIOSTAT_STATE", str(tmp_path / "state"))
        assert main(["get"]) == 1
        assert capsys.readouterr().err.endswith("heliostat up starts a cluster on this machine\n")

    def test_verbose_says_which_cluster(self, run: Commands, bare: ApiServer) -> None:
        assert run("get", "--kinds", "-v")[2] == f"cluster: {bare.address} (--kubeconfig {bare.kubeconfig})\n"


class TestTheLocalCluster:
    @pytest.fixture
    def state(self, bare: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[State]:
        """The server is the local one, and its supervisor lives for as long as the test."""
        state = State(tmp_path)
        state.kubeconfig.write_bytes(bare.kubeconfig.read_bytes())
        monkeypatch.delenv("KUBECONFIG", raising=False)
        monkeypatch.setenv("HELIOSTAT_STATE", str(tmp_path))
        with state.lock():
            yield state

    def test_it_is_meant_while_it_is_up(self, state: State, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["get", "--kinds", "-v"]) == 0
        assert f"(the local one, {state.kubeconfig})" in capsys.readouterr().err

    def test_it_is_not_meant_when_it_is_down(
        self, state: State, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = tmp_path / "other"
        other.mkdir()
        (other / "kubeconfig").write_bytes(state.kubeconfig.read_bytes())
        monkeypatch.setenv("HELIOSTAT_STATE", str(other))
        monkeypatch.setenv("HOME", str(tmp_path))
        assert main(["get", "--kinds"]) == 1
        assert "no cluster to talk to" in capsys.readouterr().err

    @pytest.mark.parametrize("presence", [OperatorPresence.RUNNING, OperatorPresence.ABSENT])
    def test_its_supervisor_knows_whether_an_operator_runs(self, state: State, presence: OperatorPresence) -> None:
        assert find_local_operator(state) is OperatorPresence.UNKNOWN
        operator = ChildStatus("operator", os.getpid() if presence is OperatorPresence.RUNNING else 0, since=0.0)
        state.write_status(SupervisorStatus(pid=os.getpid(), since=0.0, children=(operator,)))
        assert find_local_operator(state) is presence


class TestTheOperatorsLease:
    @pytest.mark.parametrize(
        ("spec", "is_running"),
        [
            ({"holderIdentity": "a", "renewTime": "2027-01-15T08:00:00.000000Z", "leaseDurationSeconds": 15}, True),
            ({"holderIdentity": "a", "renewTime": "2027-01-15T07:50:00.000000Z", "leaseDurationSeconds": 15}, False),
            ({"holderIdentity": "a", "renewTime": "2027-01-15T07:50:00.000000Z", "leaseDurationSeconds": 600}, True),
            ({"holderIdentity": "", "renewTime": "2027-01-15T08:00:00.000000Z"}, False),
            ({"holderIdentity": "a"}, False),
            ({}, False),
        ],
    )
    def test_one_that_is_renewed_means_an_operator(self, spec: dict[str, object], *, is_running: bool) -> None:
        assert is_held({"spec": spec}, parse_timestamp("2027-01-15T08:00:30Z")) is is_running


class TestKubeconfig:
    def test_without_a_local_cluster(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["kubeconfig", "--state", str(tmp_path)]) == 1
        assert "heliostat up starts one" in capsys.readouterr().err

    def test_of_a_local_cluster(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "kubeconfig").touch()
        assert main(["kubeconfig", "--state", str(tmp_path)]) == 0
        captured = capsys.readouterr()
        assert captured.out == f"{tmp_path}/kubeconfig\n"
        assert "is down" in captured.err
        assert main(["kubeconfig", "--export", "--state", str(tmp_path)]) == 0
        assert capsys.readouterr().out == f"export KUBECONFIG={tmp_path}/kubeconfig\n"
