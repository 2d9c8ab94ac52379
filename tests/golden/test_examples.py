"""Our own inputs and what comes out of them: the compatibility tests' shape for everyone, without recorded goldens.

``make snapshots`` writes the files again; the difference is then part of the change that is reviewed.
"""

import os
from pathlib import Path

import pytest

from heliostat.api.review import review
from heliostat.api.settings import Settings
from heliostat.kube.core_objects import core_problems
from heliostat.kube.documents import read_documents
from heliostat.kube.yaml_text import encode_yaml
from heliostat.plan.render import Rendering, render_documents

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
INPUTS = sorted(EXAMPLES.glob("ray*.yaml"))  # of the others nothing is rendered


def render(path: Path) -> Rendering:
    return render_documents(read_documents(path.read_bytes(), path.name), "default", Settings())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.stem)
def test_an_example_renders_as_its_snapshot(path: Path) -> None:
    text = "---\n".join(encode_yaml(tree) for tree in render(path).objects)
    snapshot = EXAMPLES / "rendered" / path.name
    if os.environ.get("HELIOSTAT_WRITE_SNAPSHOTS"):
        snapshot.write_text(text)
    assert snapshot.read_text() == text


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.stem)
def test_an_example_has_no_problems(path: Path) -> None:
    assert render(path).findings == ()


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.stem)
def test_everything_rendered_fits_the_schema_of_its_kind(path: Path) -> None:
    for tree in render(path).objects:
        if tree["apiVersion"] == "ray.io/v1":
            assert review(tree, Settings()).problems == ()
        else:
            assert list(core_problems(tree)) == []


def test_there_are_no_snapshots_without_an_example() -> None:
    assert {path.name for path in (EXAMPLES / "rendered").iterdir()} == {path.name for path in INPUTS}
