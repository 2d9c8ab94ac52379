"""``heliostat run`` of a file that would be refused: it says what is wrong, as ``apply`` does, and starts nothing."""

from pathlib import Path

import pytest

from cli.typed_commands import EXAMPLE, example, write
from heliostat.api.settings import Settings, default_gates
from heliostat.cli.errors import CommandError
from heliostat.cli.main import main
from heliostat.cli.run_documents import load_judged


def run(folder: Path, filename: str, *arguments: str) -> int:
    return main(["run", filename, f"--state={folder / 'state'}", *arguments])


def test_a_misspelt_field_is_told_with_the_one_that_was_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = example("hello", imagee="rayproject/ray")
    tree["spec"]["workerGroupSpec"] = tree["spec"].pop("workerGroupSpecs")
    assert run(tmp_path, write(tmp_path, tree)) == 1
    told = capsys.readouterr().err
    assert "did you mean workerGroupSpecs?" in told
    assert told.rstrip().endswith("nothing was started: correct what is told above")
    assert not (tmp_path / "state").exists()


def test_pods_that_the_api_server_takes_from_nobody_are_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = EXAMPLE.read_text().replace('requests: {cpu: "1"', 'requests: {cpu: "3"')
    assert run(tmp_path, write(tmp_path, text)) == 1
    told = capsys.readouterr().err
    assert "resources.requests.cpu: 3 is more than the limit of 1" in told
    assert told.rstrip().endswith("nothing was started: correct what is told above")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("instead", "words"),
    [
        ("", "has to be a map with a list of applications"),
        ("applications\n", "cannot be read: serveConfigV2:2:9: mapping values are not allowed in this context"),
    ],
)
def test_a_serve_configuration_that_can_be_given_to_nobody_is_refused_before_anything_starts(
    instead: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = EXAMPLE.with_name("rayservice.yaml").read_text().replace("    applications:\n", instead and f"    {instead}")
    assert run(tmp_path, write(tmp_path, text)) == 1
    told = capsys.readouterr().err
    assert f"spec.serveConfigV2: the text {words}" in told
    assert told.rstrip().endswith("nothing was started: correct what is told above")
    assert not (tmp_path / "state").exists()


def test_what_the_operator_is_started_with_decides_what_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = example("hello")
    storage = {"size": "1Gi", "accessModes": ["ReadWriteOnce"]}
    tree["spec"]["gcsFaultToleranceOptions"] = {"backend": "rocksdb", "storage": storage}
    filename = write(tmp_path, tree)
    with pytest.raises(CommandError, match="nothing was started"):
        load_judged(filename, Settings())
    assert "GCSFaultToleranceEmbeddedStorage" in capsys.readouterr().err
    gates = default_gates() | {"GCSFaultToleranceEmbeddedStorage": True}
    assert load_judged(filename, Settings(gates=gates)) == [tree]


@pytest.mark.parametrize("kind", ["rayjob", "rayservice"])
def test_what_brings_its_own_program_takes_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    assert run(tmp_path, str(EXAMPLE.with_name(f"{kind}.yaml")), "--", "python", "x.py") == 2
    assert "brings its own program: leave out -- python x.py" in capsys.readouterr().err


def test_a_file_with_two_of_them_is_refused(tmp_path: Path) -> None:
    both = "---\n".join(EXAMPLE.with_name(f"{kind}.yaml").read_text() for kind in ("rayjob", "rayservice"))
    with pytest.raises(CommandError, match="exactly one RayCluster, one RayJob or one RayService"):
        load_judged(write(tmp_path, both), Settings())
