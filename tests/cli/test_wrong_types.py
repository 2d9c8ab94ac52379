"""A value of the wrong type anywhere in a document ends in a sentence, never in a traceback, whatever reads it."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from heliostat.api.crds import all_crds
from heliostat.cli.errors import CommandError
from heliostat.cli.main import main
from heliostat.testing import ApiServer, api_server_in_thread

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = [file.read_text() for file in sorted(EXAMPLES.glob("*.yaml"))]
DOCUMENTS = [tree for text in FILES for tree in yaml.safe_load_all(text) if tree is not None]
WRONG: tuple[Any, ...] = (
    3,
    -1,
    1e300,
    True,
    "",
    "x",
    "2GB",
    [],
    [3],
    [[]],
    [None],
    {},
    {"a": 3},
    {"a": {"b": []}},
    None,
)


def list_paths(tree: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from list_paths(value, (*at, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from list_paths(value, (*at, index))


def change(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(tree)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


@st.composite
def broken(draw: st.DrawFn) -> Any:
    """A sound document with one or two wrong values; in metadata and in the list of groups as often as in templates."""
    tree = draw(st.sampled_from(DOCUMENTS))
    for _ in range(draw(st.integers(1, 2))):
        paths = [path for path in list_paths(tree) if path]
        shallow = [path for path in paths if len(path) <= 3]
        path = draw(st.sampled_from(shallow if draw(st.booleans()) else paths))
        tree = change(tree, path, draw(st.sampled_from(WRONG)))
    return tree


def metadata_is(value: Any) -> Any:
    return change(DOCUMENTS[0], ("metadata",), value)


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
    """Raises whatever a person would see as a traceback."""
    code = main(list(arguments))
    captured = capsys.readouterr()
    assert code in (0, 1), captured.err
    assert code == 0 or captured.out or captured.err


fuzzing = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@fuzzing
@given(tree=broken())
@example(tree=metadata_is(3))
@example(tree=metadata_is("x"))
@example(tree=metadata_is([]))
@example(tree=metadata_is({"name": 3}))
@example(tree=metadata_is({"name": "a", "namespace": {}}))
@example(tree=metadata_is({"name": "a", "labels": 3, "annotations": []}))
@example(tree={"kind": "RayCluster"})
@example(tree={"kind": ["RayCluster"], "apiVersion": "ray.io/v1"})
@pytest.mark.parametrize(
    "command", [("validate",), ("render",), ("plan", "--from-nothing"), ("plan", "--against", str(EXAMPLES))]
)
def test_documents(capsys: pytest.CaptureFixture[str], tmp_path: Path, command: tuple[str, ...], tree: Any) -> None:
    file = tmp_path / "input.json"
    file.write_text(json.dumps(tree))
    call(capsys, command[0], "-f", str(file), *command[1:])


@fuzzing
@given(tree=broken())
@example(tree=metadata_is(3))
@example(tree=metadata_is({"name": DOCUMENTS[0]["metadata"]["name"], "labels": 3}))
def test_objects_of_against(capsys: pytest.CaptureFixture[str], tmp_path: Path, tree: Any) -> None:
    file = tmp_path / "there.json"
    file.write_text(json.dumps(tree))
    call(capsys, "plan", "-f", str(EXAMPLES), "--against", str(file))


def build_neighbour(value: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": value}


@fuzzing
@given(tree=broken())
@example(tree=metadata_is(3))
@example(tree=build_neighbour(3))
@example(tree=build_neighbour({"name": {}}))
@example(tree=build_neighbour({}))
@example(tree={"apiVersion": "v1", "kind": 3})
def test_the_file_of_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tree: Any
) -> None:
    """Beside a sound RayCluster, so that it is the broken one that is refused; nothing is started."""
    file = tmp_path / "input.json"
    file.write_text(json.dumps(tree) + "\n" + json.dumps(DOCUMENTS[0]))
    monkeypatch.setattr("heliostat.cli.up.open_for_use", refuse_to_start)
    call(capsys, "run", str(file), "--state", str(tmp_path / "nowhere"))


def refuse_to_start(_options: object) -> None:
    raise CommandError("the file was taken", 1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    file = tmp_path_factory.mktemp("crds") / "crds.json"
    file.write_text("\n".join(map(json.dumps, all_crds(slim=True))))
    with api_server_in_thread() as running:
        assert main(["apply", "--kubeconfig", str(running.kubeconfig), "-f", str(file)]) == 0
        yield running


@settings(fuzzing, max_examples=25)
@given(tree=broken())
@example(tree=metadata_is(3))
@example(tree=build_neighbour(3))
@example(tree=build_neighbour({"name": {}}))
@example(tree=build_neighbour({"name": "a", "namespace": 3}))
@example(tree={"apiVersion": "v1", "kind": 3})
@example(tree={"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": 3})
@pytest.mark.parametrize(
    "command", [("apply", "--dry-run"), ("plan",), ("explain",), ("delete", "--no-wait"), ("get",)], ids=" ".join
)
def test_documents_that_a_server_is_asked_about(
    server: ApiServer, capsys: pytest.CaptureFixture[str], tmp_path: Path, command: tuple[str, ...], tree: Any
) -> None:
    file = tmp_path / "input.json"
    file.write_text(json.dumps(tree))
    call(capsys, command[0], "-f", str(file), "--kubeconfig", str(server.kubeconfig), *command[1:])
