"""The pages that people read are the ones the code would write now."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.samples.page import build_page, read_rows, was_online

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
SAMPLES = REFERENCE / "samples.md"  # what a run of KubeRay's samples found, not what the code says


def test_the_reference_is_what_the_code_says(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "generate_reference.py", tmp_path], check=True)
    fresh = {path.name: path.read_text() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_text() for path in REFERENCE.iterdir() if path.name != SAMPLES.name}
    if sys.version_info[:2] != (3, 11):  # argparse words its help differently in each version
        assert fresh.pop("commands.md").count("## heliostat") == committed.pop("commands.md").count("## heliostat")
    assert committed == fresh, "run make reference"


def test_the_table_of_samples_is_as_its_script_writes_it() -> None:
    page = SAMPLES.read_text()
    rows = read_rows(page)
    assert len(rows) > 90
    assert build_page(rows.values(), is_online=was_online(page)) == page


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")), ids=lambda path: path.name
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_tests_named_as_proof_of_a_difference_exist() -> None:
    text = (ROOT / "docs" / "differences.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) > 15
    for file, test in named:
        assert (ROOT / file).exists(), file
        assert not test or f"def {test}(" in (ROOT / file).read_text(), f"{file}::{test}"
