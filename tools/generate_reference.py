"""Write docs/reference from the code: the commands' own help, the operator's settings, the reasons of plans.

``make reference`` runs it; a test compares the committed pages with a fresh run, so they cannot go stale.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path

from msgspec import structs

from heliostat.api.settings import GATES
from heliostat.cli.main import COMMANDS, main, usage
from heliostat.operator.flags import SWITCHES, OperatorFlags
from heliostat.plan.because import Because, Hold, explain

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
GENERATED = "<!-- made by tools/generate_reference.py; change the code, then run make reference -->\n"


def build_pages() -> dict[str, str]:
    """File name to text."""
    return {
        "commands.md": _join(_commands()),
        "settings.md": _join(_settings()),
        "plan-reasons.md": _join(_reasons()),
    }


def _join(lines: Iterator[str]) -> str:
    return GENERATED + "\n".join(lines) + "\n"


def _help(command: str) -> str:
    os.environ["COLUMNS"] = "100"  # argparse folds its text to the terminal's width
    output = io.StringIO()
    with redirect_stdout(output), suppress(SystemExit):
        main([command, "--help"])
    return output.getvalue().rstrip()


def _commands() -> Iterator[str]:
    yield from ("# Commands", "", "```text", usage(), "```")
    for command in COMMANDS:
        yield from ("", f"## heliostat {command}", "", "```text", _help(command), "```")


def _settings() -> Iterator[str]:
    yield from ("# The operator's settings", "", "KubeRay's flags, gates and environment variables, with its defaults.")
    yield from ("", "## Flags", "", "| flag | default |", "|---|---|")
    for field in structs.fields(OperatorFlags):
        shown = str(field.default).lower() if isinstance(field.default, bool) else field.default
        yield (
            f"| `--{field.name.replace('_', '-')}` | `{shown}` |"
            if shown != ""
            else f"| `--{field.name.replace('_', '-')}` | |"
        )
    yield from ("", "## Feature gates", "", "| gate | default | stage |", "|---|---|---|")
    for name, (default, stage) in GATES.items():
        yield f"| `{name}` | {'on' if default else 'off'} | {stage} |"
    yield from ("", "## Environment switches", "", "| variable | on when |", "|---|---|")
    for name, (_field, reads) in SWITCHES.items():
        rule = "unless it is `false`" if reads("") else "it is `true`"
        yield f"| `{name}` | {rule} |"


def _reasons() -> Iterator[str]:
    yield from ("# Why a plan does what it does", "", "| reason | meaning |", "|---|---|")
    yield from (f"| `{because}` | {explain(because)} |" for because in Because)
    yield from (
        "",
        "## Why a plan waits",
        "",
        "Each wait says in its own words what it waits for and what ends it.",
        "",
    )
    yield from (f"- `{hold}`" for hold in Hold)


def write_pages(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in build_pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
