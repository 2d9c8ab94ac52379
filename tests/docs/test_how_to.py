"""What the how-to pages show works as it stands there: their files are written down and run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "test-your-operator.md"
LISTING = re.compile(r"`(\w+\.py)`:\n\n```python\n(.*?)```", re.DOTALL)
MOST_LINES = 20


def listings() -> dict[str, str]:
    """The files that the page shows."""
    return dict(LISTING.findall(PAGE.read_text()))


def test_every_listing_has_a_file_name() -> None:
    assert len(listings()) == PAGE.read_text().count("```python") == 3


def test_the_test_of_an_operator_is_as_short_as_promised() -> None:
    lines = [line for line in listings()["test_sites.py"].splitlines() if line]
    assert len(lines) <= MOST_LINES


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in listings() if name.startswith("test_")])
def test_the_tests_on_the_page_pass(tmp_path: Path, name: str) -> None:
    for file, text in listings().items():
        (tmp_path / file).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
