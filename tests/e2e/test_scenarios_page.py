"""docs/e2e-scenarios.md: every test that it names is there, and it names every test of the files that it is about."""

import ast
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "e2e-scenarios.md"


def test_the_page_names_all_scenarios_and_no_others() -> None:
    named = set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE.read_text()))
    files = {file for file, _test in named}
    assert files
    assert named == {(file, test) for file in files for test in _tests_of(Path(__file__).with_name(file))}


def _tests_of(path: Path) -> list[str]:
    body = ast.parse(path.read_text()).body
    return [node.name for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
