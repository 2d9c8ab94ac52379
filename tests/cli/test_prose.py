"""How text is broken for a terminal."""

from contextlib import suppress

import pytest

from heliostat.cli.main import COMMANDS, main, usage
from heliostat.cli.prose import fit


def test_long_lines_are_broken_between_words_and_go_on_under_themselves() -> None:
    assert fit("short", 10) == "short"
    assert fit("1. one two three\n   why: four five", 12) == "1. one two\n  three\n   why: four\n     five"


def test_a_path_is_never_broken() -> None:
    broken = "see\n  spec.rayClusterConfig.headGroupSpec\n  or not"
    assert fit("see spec.rayClusterConfig.headGroupSpec or not", 20) == broken


def test_the_list_of_commands_fits_a_terminal() -> None:
    assert max(map(len, usage().splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_fits_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with suppress(SystemExit):
        main([command, "--help"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
