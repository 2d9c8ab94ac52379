"""What the page about running the operator names is there: its flags, its files, its version."""

import re
from pathlib import Path

from heliostat import __version__
from heliostat.operator.configuration import parse_process_flags
from heliostat.operator.flag_help import FLAG_SENTENCES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "run-the-operator.md").read_text()


def test_the_commands_on_the_page_are_understood() -> None:
    commands = re.findall(r"^\$ heliostat operator (.*)$", PAGE, re.MULTILINE)
    assert commands
    for command in commands:
        parse_process_flags(command.split())


def test_flags_named_in_the_text_exist() -> None:
    named = set(re.findall(r"`--([a-z-]+)", PAGE))
    assert len(named) >= 3
    assert named <= set(FLAG_SENTENCES)


def test_files_and_the_version_are_the_ones_of_the_tree() -> None:
    files = set(re.findall(r"deploy/[\w/.-]*\w", PAGE))
    assert len(files) >= 4
    assert [name for name in files if not (ROOT / name).exists()] == []
    assert set(re.findall(r"heliostat:(\d[\d.]*\d)", PAGE)) == {__version__}
