"""Commands as a person types them, and what they are given to read."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from heliostat.cli.main import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "raycluster.yaml"


class Commands:
    """Against one cluster: exit code, output, errors."""

    def __init__(self, kubeconfig: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._kubeconfig = kubeconfig
        self._capsys = capsys

    def __call__(self, command: str, *arguments: str) -> tuple[int, str, str]:
        try:
            code = main([command, "--kubeconfig", str(self._kubeconfig), *arguments])
        except SystemExit as stop:  # argparse ends the program itself
            code = int(stop.code or 0)
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err


def example(name: str, **worker: Any) -> dict[str, Any]:
    """The example's RayCluster under another name, with these fields of the worker's container."""
    tree: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())
    tree["metadata"]["name"] = name
    tree["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0].update(worker)
    return tree


def write(folder: Path, content: "str | dict[str, Any]", name: str = "input.yaml") -> str:
    path = folder / name
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)
