"""A context of the local cluster in the user's kubeconfig: put in on request, taken out again, all else as it was."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from heliostat.cli.main import main
from heliostat.local.merged_kubeconfig import MergeError, merge_kubeconfig, read_merged, remove_merged
from heliostat.local.state import State, SupervisorStatus, open_state
from heliostat.runtime.kubeconfig import find_connection

OWN = {
    "clusters": [{"name": "heliostat", "cluster": {"server": "https://127.0.0.1:6443"}}],
    "users": [{"name": "heliostat", "user": {"token": "t"}}],
    "contexts": [{"name": "heliostat", "context": {"cluster": "heliostat", "user": "heliostat"}}],
    "current-context": "heliostat",
}
THEIRS = {
    "apiVersion": "v1",
    "kind": "Config",
    "preferences": {"colors": True},
    "clusters": [{"name": "prod", "cluster": {"server": "https://prod.example.com"}}],
    "users": [{"name": "me", "user": {"token": "secret"}}],
    "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "me"}}],
    "current-context": "prod",
}


@pytest.fixture
def state(tmp_path: Path) -> State:
    made = open_state(tmp_path / "state")
    made.kubeconfig.write_text(yaml.safe_dump(OWN))
    return made


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(THEIRS, sort_keys=False))
    return path


def read(path: Path) -> dict[str, Any]:
    tree: dict[str, Any] = yaml.safe_load(path.read_text())
    return tree


def test_merged_and_removed_leaves_everything_else_as_it_was(state: State, config: Path) -> None:
    environ = {"KUBECONFIG": str(config)}
    merged = merge_kubeconfig(state, environ)
    assert (merged.file, merged.name) == (str(config), "heliostat-state")
    tree = read(config)
    assert tree["current-context"] == "prod"
    assert [entry["name"] for entry in tree["contexts"]] == ["prod", "heliostat-state"]
    assert config.stat().st_mode & 0o777 == 0o600
    assert find_connection(environ, None, "heliostat-state").server == "https://127.0.0.1:6443"
    assert merge_kubeconfig(state, environ) == merged  # once more changes nothing
    assert read(config) == tree
    assert remove_merged(state) == merged
    assert read(config) == THEIRS
    assert remove_merged(state) is None
    assert not list(config.parent.glob("*.lock"))


def test_without_a_kubeconfig_one_is_made_and_its_context_is_the_current_one(state: State, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "KUBECONFIG": str(state.kubeconfig)}  # our own file is not the user's
    merge_kubeconfig(state, environ)
    made = tmp_path / ".kube" / "config"
    assert read(made)["current-context"] == "heliostat-state"
    remove_merged(state)
    assert (read(made)["current-context"], read(made)["contexts"]) == ("", [])


def test_an_entry_that_is_not_ours_is_left_alone(state: State, config: Path) -> None:
    foreign = THEIRS | {"contexts": [{"name": "heliostat-state", "context": {"cluster": "prod", "user": "me"}}]}
    config.write_text(yaml.safe_dump(foreign))
    with pytest.raises(MergeError, match="heliostat did not put it there; rename it"):
        merge_kubeconfig(state, {"KUBECONFIG": str(config)})
    assert read(config) == foreign
    assert read_merged(state) is None


def test_a_file_that_another_program_is_changing_is_not_touched(state: State, config: Path) -> None:
    lock = config.with_name("config.lock")
    lock.touch()
    with pytest.raises(MergeError, match=r"another program is changing .*; if none does, delete"):
        merge_kubeconfig(state, {"KUBECONFIG": str(config)})
    assert lock.exists()


@pytest.mark.parametrize("text", ["clusters: 3\n", "a: [\n", "- x\n", "a: 1\n---\nb: 2\n"])
def test_what_is_no_kubeconfig_is_refused_and_kept(state: State, config: Path, text: str) -> None:
    config.write_text(text)
    with pytest.raises(MergeError, match=r"kubeconfig"):
        merge_kubeconfig(state, {"KUBECONFIG": str(config)})
    assert config.read_text() == text


def test_a_link_stays_one(state: State, config: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(config)
    merge_kubeconfig(state, {"KUBECONFIG": str(link)})
    assert link.is_symlink()
    assert len(read(config)["contexts"]) == 2


def test_up_merges_and_down_takes_it_out(
    state: State, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(config))
    state.write_status(SupervisorStatus(pid=0, since=0.0, is_ready=True))
    with state.lock():  # as if it were up
        assert main(["up", "--merge-kubeconfig", "--state", str(state.path)]) == 0
    assert "context heliostat-state is in " in capsys.readouterr().out
    assert len(read(config)["contexts"]) == 2
    assert main(["down", "--state", str(state.path)]) == 0
    assert "context heliostat-state is no longer in " in capsys.readouterr().out
    assert read(config) == THEIRS
