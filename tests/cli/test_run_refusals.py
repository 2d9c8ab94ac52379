"""``heliostat run`` of a file that would be refused: it says what is wrong, as ``apply`` does, and starts nothing."""

from pathlib import Path

import pytest

from cli.typed_commands import example, write
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
