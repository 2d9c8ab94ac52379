"""Where the outcomes of the real control plane are kept: ``recorded/GROUP.json``, sorted, a line per fact."""

import json
from pathlib import Path

import msgspec

from conformance.controllers.runner import Outcome

RECORDED = Path(__file__).parent / "recorded"


def save_outcomes(group: str, outcomes: dict[str, Outcome]) -> Path:
    """The same outcomes always give the same text."""
    path = RECORDED / f"{group}.json"
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(msgspec.to_builtins(outcomes), indent=1, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n")
    return path


def load_outcomes(group: str) -> dict[str, Outcome]:
    path = RECORDED / f"{group}.json"
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Outcome]) if path.exists() else {}
