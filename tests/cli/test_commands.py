"""The commands as a person runs them: output, exit codes, and never a traceback."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from heliostat.cli.main import COMMANDS, main
from heliostat.kube.documents import read_documents

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CLUSTER = EXAMPLES / "raycluster.yaml"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(list(arguments))
    except SystemExit as stop:  # argparse ends the program itself
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def write(folder: Path, text: str | bytes, name: str = "input.yaml") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


class TestMain:
    def test_help_lists_every_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, _err = run(capsys, "--help")
        assert code == 0
        assert all(command in out for command in COMMANDS)

    def test_without_a_command_it_tells_how(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(capsys)[0] == 2

    def test_an_unknown_command_gets_a_hint(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, _out, err = run(capsys, "valdate")
        assert code == 2
        assert "did you mean validate?" in err

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_has_help(self, capsys: pytest.CaptureFixture[str], command: str) -> None:
        code, out, _err = run(capsys, command, "--help")
        assert code == 0
        assert f"usage: heliostat {command}" in out

    def test_a_locale_that_lacks_a_mark_spells_it(self) -> None:
        """As in en_US.ISO-8859-1."""
        environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
        command = [sys.executable, "-m", "heliostat.cli.main", "run", "--help"]
        told = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert (told.returncode, told.stderr) == (0, b"")
        assert b"[-- COMMAND\\u2026]" in told.stdout

    @pytest.mark.parametrize("port", ["99999", "-5", "http"])
    @pytest.mark.parametrize(
        "command", [("expose", "echo"), ("dashboard", "hello"), ("apiserver", "--memory"), ("up",)]
    )
    def test_what_is_no_port_is_refused_at_once(
        self, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], port: str
    ) -> None:
        """The system takes 99999 for 34463."""
        code, _out, err = run(capsys, *command, f"--port={port}")
        assert (code, "is no TCP port; give 1 to 65535" in err) == (2, True)


class TestValidate:
    def test_a_sound_document(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(capsys, "validate", "-f", str(CLUSTER)) == (0, "", "1 document, no problems\n")

    def test_every_problem_has_file_line_path_and_fix(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        text = CLUSTER.read_text().replace("minReplicas: 1", "minReplicas: -1").replace("image:", "imge:", 1)
        file = write(tmp_path, text)
        code, out, err = run(capsys, "validate", "-f", file)
        lines = text.splitlines()
        assert code == 1
        negative = lines.index("      minReplicas: -1") + 1
        assert f"{file}:{negative}: error: spec.workerGroupSpecs[0].minReplicas: worker group workers has" in out
        typo = next(i for i, line in enumerate(lines, 1) if "imge:" in line)
        assert f"{file}:{typo}: warning: spec.headGroupSpec.template.spec.containers[0].imge: " in out
        assert "image" in out.split("imge", 1)[1]
        assert out.count("    fix: ") == 2
        assert err == "1 document, 1 error, 1 warning\n"

    def test_a_directory_and_other_kinds_in_it(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        write(tmp_path, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}\n", "a.yaml")
        write(tmp_path, CLUSTER.read_bytes(), "b.yml")
        write(tmp_path, "not: read", "c.txt")
        code, out, err = run(capsys, "validate", "-f", str(tmp_path))
        assert code == 1
        assert "a.yaml:4: error: data.a" in out
        assert err == "2 documents, 1 error, 0 warnings\n"

    def test_quiet_leaves_the_exit_code(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(capsys, "validate", "-q", "-f", str(CLUSTER)) == (0, "", "")

    def test_strict_fails_for_a_warning_and_shows_it(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        file = write(tmp_path, CLUSTER.read_text().replace("image:", "imge:", 1))
        assert run(capsys, "validate", file)[0] == 0
        code, out, _err = run(capsys, "validate", "--strict", "-q", file)
        assert code == 1
        assert "warning: " in out
        assert run(capsys, "validate", "--strict", str(CLUSTER)) == (0, "", "1 document, no problems\n")

    def test_a_quantity_gets_words_and_no_pattern(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        text = CLUSTER.read_text().replace("memory: 2Gi", "memory: 2GB", 1)
        _code, out, _err = run(capsys, "validate", write(tmp_path, text))
        assert "fix: write 2G or 2Gi" in out
        assert "0-9" not in out

    def test_standard_input(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        stdin = io.TextIOWrapper(io.BytesIO(CLUSTER.read_bytes()))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert run(capsys, "validate", "-f", "-")[0] == 0

    def test_gates_decide(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        file = write(tmp_path, CLUSTER.read_text() + "  networkPolicy: {}\n")
        assert run(capsys, "validate", "-f", file)[0] == 1
        assert run(capsys, "validate", "-f", file, "--feature-gates=RayClusterNetworkPolicy=true")[0] == 0

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("spec: [", "error"),
            ("a: b: c", "fix"),
            ('{"apiVersion": "ray.io/v1"', "error"),
            (b"\xff\xfe\xfa", "error"),
            ("apiVersion: ray.io/v1\nkind: RayClutser\nmetadata: {name: a}\n", "did you mean RayCluster?"),
            ("apiVersion: ray.io/v2\nkind: RayCluster\nmetadata: {name: a}\n", "ray.io/v1"),
            ("apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: a}\nspec: {}\n", "headGroupSpec"),
            ("apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: a}\nspec: 3\n", "spec"),
            ("apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: []\nspec: {}\n", "metadata"),
            ("a: &a [x]\nb: [*a, *a]\nc: *c\n", "error"),
            ("a: 1\na: 2\n", "error"),
        ],
    )
    def test_bad_input_is_told_in_words(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str | bytes, words: str
    ) -> None:
        code, out, _err = run(capsys, "validate", "-f", write(tmp_path, text))
        assert code == 1
        assert words in out
        assert "fix: " in out
        assert "Traceback" not in out

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["-f", "/no/such/file"], "No such file"),
            (["--feature-gates=Nope=true", "-f", "x"], "unknown feature gate"),
            (["--batch-scheduler=slurm", "-f", "x"], "unsupported batch scheduler"),
            (["--config=/no/such/file", "-f", "x"], "No such file"),
        ],
    )
    def test_a_wrong_call_is_told_in_words(
        self, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
    ) -> None:
        code, _out, err = run(capsys, "validate", *arguments)
        assert code in (1, 2)
        assert words in err

    def test_an_empty_file_is_no_success(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        code, _out, err = run(capsys, "validate", "-f", write(tmp_path, "# nothing\n"))
        assert code == 1
        assert "no documents" in err


class TestRender:
    def test_yaml_reads_back(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, _err = run(capsys, "render", "-f", str(CLUSTER), "-n", "team")
        kinds = [document.tree["kind"] for document in read_documents(out)]
        assert code == 0
        assert kinds == ["Service", "Pod", "Pod"]
        assert "namespace: team" in out

    def test_json_is_a_list(self, capsys: pytest.CaptureFixture[str]) -> None:
        _code, out, _err = run(capsys, "render", "-f", str(CLUSTER), "-o", "json")
        rendered = json.loads(out)
        assert rendered["kind"] == "List"
        assert len(rendered["items"]) == 3

    def test_no_secret_is_ever_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        _code, out, _err = run(capsys, "render", "-f", str(EXAMPLES / "raycluster-fault-tolerant.yaml"))
        assert 'auth_token: "<32 random bytes in base64, drawn at creation>"' in out

    def test_a_refused_document_yields_nothing_and_says_why(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        file = write(tmp_path, CLUSTER.read_text().replace("minReplicas: 1", "minReplicas: 9"))
        code, out, err = run(capsys, "render", "-f", file)
        assert (code, out) == (1, "")
        assert "minReplicas 9 greater than maxReplicas 3" in err

    def test_notes_tell_what_is_missing(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        file = write(tmp_path, CLUSTER.read_text() + "  suspend: true\n")
        code, out, err = run(capsys, "render", "-f", file)
        assert code == 0
        assert "kind: Pod" not in out
        assert "note: RayCluster hello: it is suspended and has no Pods: the cluster is suspended" in err

    def test_operator_flags_change_the_objects(self, capsys: pytest.CaptureFixture[str]) -> None:
        _code, out, _err = run(capsys, "render", "-f", str(CLUSTER), "-batch-scheduler", "volcano")
        assert "schedulerName: volcano" in out

    def test_the_configuration_file_is_read(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        config = write(
            tmp_path,
            "apiVersion: config.ray.io/v1alpha1\nkind: Configuration\ndefaultPodLabels: {cost-center: '42'}\n",
            "config.yaml",
        )
        _code, out, _err = run(capsys, "render", "-f", str(CLUSTER), f"--config={config}")
        assert out.count("cost-center:") == 2


class TestPlan:
    def test_from_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, _err = run(capsys, "plan", "--from-nothing", "-f", str(CLUSTER))
        assert code == 0
        assert "create  Service default/hello-head-svc" in out
        assert "create  Pod default/hello-head-" in out

    def test_against_what_render_made_there_is_nothing_left_to_create(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        _code, rendered, _err = run(capsys, "render", "-f", str(CLUSTER))
        there = write(tmp_path, f"{CLUSTER.read_text()}\n---\n{rendered}", "there.yaml")
        code, out, _err = run(capsys, "plan", "-f", str(CLUSTER), "--against", there)
        assert code == 0
        assert "create " not in out
        assert "delete " not in out

    def test_plan_and_render_agree_on_the_pods(self, capsys: pytest.CaptureFixture[str]) -> None:
        example = str(EXAMPLES / "raycluster-multihost.yaml")
        _code, rendered, _err = run(capsys, "render", "-f", example, "-o", "json")
        _code, planned, _err = run(capsys, "plan", "--from-nothing", "-f", example)
        for tree in json.loads(rendered)["items"]:
            assert f"{tree['kind']} default/{tree['metadata']['name']} " in planned

    def test_a_change_shows_as_its_consequence(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        _code, rendered, _err = run(capsys, "render", "-f", str(CLUSTER))
        there = write(tmp_path, f"{CLUSTER.read_text()}\n---\n{rendered}", "there.yaml")
        wanted = write(tmp_path, CLUSTER.read_text().replace("replicas: 1", "replicas: 3"), "wanted.yaml")
        _code, out, _err = run(capsys, "plan", "-f", wanted, "--against", there)
        assert out.count("create  Pod default/hello-workers-worker-") == 2

    def test_objects_of_the_wrong_shape_are_named(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        there = write(tmp_path, "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: 3}\n", "there.yaml")
        code, _out, err = run(capsys, "plan", "-f", str(CLUSTER), "--against", there)
        assert code == 1
        assert "cannot use the objects of --against" in err

    def test_json_has_verbs_and_reasons_and_no_secret(self, capsys: pytest.CaptureFixture[str]) -> None:
        example = str(EXAMPLES / "raycluster-fault-tolerant.yaml")
        _code, out, _err = run(capsys, "plan", "--from-nothing", "-f", example, "-o", "json")
        (planned,) = json.loads(out)
        actions = [action for stage in planned["plan"]["stages"] for action in stage["actions"]]
        assert {action["verb"] for action in actions} == {"Create", "Patch"}
        assert all(action["because"] for action in actions)

    def test_a_refused_document_waits_with_the_fix(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        file = write(tmp_path, CLUSTER.read_text().replace("minReplicas: 1", "minReplicas: 9"))
        code, out, _err = run(capsys, "plan", "--from-nothing", "-f", file)
        assert code == 1
        assert "nothing to do" in out
        assert "\n  fix: lower minReplicas" in out


class TestCrds:
    def test_they_are_installable_documents(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, _err = run(capsys, "crds", "--slim")
        names = [document.tree["metadata"]["name"] for document in read_documents(out)]
        assert code == 0
        assert sorted(names) == ["rayclusters.ray.io", "raycronjobs.ray.io", "rayjobs.ray.io", "rayservices.ray.io"]


def test_a_reader_that_stops_early_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    assert main(["render", "-f", str(CLUSTER)]) == 0


@pytest.mark.parametrize(
    ("name", "fix"),
    [("My_Cluster", "rename it, such as my-cluster"), ("-x-", "rename it, such as x"), ("???", "rename it")],
)
def test_a_wrong_name_is_answered_with_one_and_without_a_pattern(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, fix: str
) -> None:
    text = CLUSTER.read_text().replace("name: hello", f'name: "{name}"', 1)
    code, out, _err = run(capsys, "validate", write(tmp_path, text))
    assert code == 1
    assert f"fix: {fix}\n" in out
    assert "regex" not in out
    assert "[a-z0-9]" not in out
