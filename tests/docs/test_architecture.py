"""ARCHITECTURE.md is a map of the tree that stands: what it names is there, and every package is on it.

The code that the pages of docs/decisions name is there, too.
"""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "heliostat"
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
TREE = TEXT.split("```")[3]
KINDS = {"raycluster", "rayjob", "rayservice", "raycronjob"}

PLACES = {
    path.relative_to(ROOT).as_posix()
    for folder in ("src", "tests", "bench", "tools", "docs", "deploy", "examples")
    for path in (ROOT / folder, *(ROOT / folder).rglob("*"))
    if path.suffix in ("", ".py", ".md")
}


def is_there(name: str) -> bool:
    """From the root, or by its last parts (``shim/families.py``); ``<kind>`` stands for any."""
    pattern = re.sub(r"<\w+>", "*", name)
    return (ROOT / name).exists() or any(fnmatch(place, f"*/{pattern}") for place in PLACES)


def named_paths() -> list[str]:
    prose = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
    quoted = [
        name
        for name in quoted_names(prose)
        if name.endswith((".py", "/")) or re.fullmatch(r"[a-z_]+(/[\w<>-]+)+", name)
    ]
    linked = re.findall(r"\]\(([\w./-]+)\)", prose)
    drawn = re.findall(r"\b([\w/]+(?:/|\.py))(?!\w)", TREE)
    return sorted({name.rstrip("/") for name in (*quoted, *linked, *drawn)})


def quoted_names(text: str) -> list[str]:
    return re.findall(r"`([\w./<>*-]+)`", text)


@pytest.mark.parametrize("name", named_paths())
def test_a_path_that_it_names_exists(name: str) -> None:
    assert is_there(name)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "decisions").glob("*.md")), ids=lambda page: page.stem)
def test_the_modules_that_a_decision_names_exist(page: Path) -> None:
    assert [name for name in quoted_names(page.read_text()) if name.endswith(".py") and not is_there(name)] == []


@pytest.mark.parametrize(
    "folder", [SOURCE, SOURCE / "embedded", SOURCE / "embedded" / "server"], ids=lambda it: it.name
)
def test_the_tree_shows_every_package(folder: Path) -> None:
    packages = {path.name for path in folder.iterdir() if (path / "__init__.py").exists()}
    assert packages <= set(re.findall(r"(\w+)/", TREE))


@pytest.mark.parametrize("package", ["desired", "plan", "explain", "operator"])
def test_each_kind_has_its_folder(package: str) -> None:
    assert {path.name for path in (SOURCE / package).iterdir() if path.is_dir()} >= KINDS
