"""The settings that the local operator was started with, written down beside the store, so that other commands judge
documents as it does."""

import msgspec

from heliostat.api.settings import Settings
from heliostat.local.state import State

_FILE = "operator.json"


def write_operator_settings(state: State, settings: Settings) -> None:
    fresh = state.path / f"{_FILE}.new"
    fresh.write_bytes(msgspec.json.encode(settings))
    fresh.replace(state.path / _FILE)


def read_operator_settings(state: State) -> Settings | None:
    """None: no operator was started here, or one of a version that knew other settings."""
    try:
        found = msgspec.json.decode((state.path / _FILE).read_bytes(), type=Settings)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if found.gates.keys() == Settings().gates.keys() else None
