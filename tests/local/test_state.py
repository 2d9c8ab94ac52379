"""The state directory: private, locked by one supervisor, of one format, and readable after anything."""

import json
from pathlib import Path

import pytest

from heliostat.local.state import FORMAT, ChildStatus, State, StateError, SupervisorStatus, default_state, open_state


def test_it_is_private_and_can_be_opened_again(tmp_path: Path) -> None:
    state = open_state(tmp_path / "a" / "b")
    assert state.path.stat().st_mode & 0o777 == 0o700
    assert open_state(state.path) == state


def test_another_format_is_refused_with_a_way_out(tmp_path: Path) -> None:
    state = open_state(tmp_path)
    (state.path / "format.json").write_text(json.dumps({"format": FORMAT + 1}))
    with pytest.raises(StateError, match=rf"format {FORMAT + 1}, this one has {FORMAT}.*--state"):
        open_state(tmp_path)


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="choose another with --state"):
        open_state(tmp_path / "file")


def test_only_one_may_hold_the_lock(tmp_path: Path) -> None:
    state = open_state(tmp_path)
    assert not state.is_locked()
    with state.lock():
        assert state.is_locked()
        with pytest.raises(StateError, match="another heliostat runs in"):
            state.lock()
    assert not state.is_locked()


def test_the_status_is_what_was_written_last(tmp_path: Path) -> None:
    state = open_state(tmp_path)
    assert state.read_status() is None
    status = SupervisorStatus(
        pid=1, since=2.0, is_ready=True, children=(ChildStatus("node", 7, 3.0, 2, "exit code 1"),)
    )
    state.write_status(status)
    assert state.read_status() == status
    (state.path / "supervisor.json").write_text('{"torn')
    assert state.read_status() is None


def test_the_environment_may_name_the_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELIOSTAT_STATE", "/somewhere/else")
    assert default_state() == Path("/somewhere/else")
    monkeypatch.delenv("HELIOSTAT_STATE")
    assert default_state().parts[-3:] == (".local", "state", "heliostat")


def test_removing_leaves_nothing(tmp_path: Path) -> None:
    state = open_state(tmp_path / "state")
    state.remove()
    assert not state.path.exists()
    assert State(state.path).read_status() is None
