"""Documents are judged by the settings of the operator that will look at them, not by the defaults."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.typed_commands import example, write
from heliostat.api.settings import Settings
from heliostat.cli import up
from heliostat.cli.errors import CommandError
from heliostat.cli.local_settings import build_local_settings, settings_of_run
from heliostat.cli.main import main
from heliostat.local.operator_settings import read_operator_settings, write_operator_settings
from heliostat.local.state import State, open_state
from heliostat.testing import ApiServer, api_server_in_thread

GATE = "RayClusterNetworkPolicy"


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server_in_thread() as running:
        yield running


def gated(folder: Path) -> str:
    tree = example("gated")
    tree["spec"]["networkPolicy"] = {}
    return write(folder, tree)


@contextmanager
def local_cluster(folder: Path, server: ApiServer, *flags: str) -> Iterator[State]:
    """As heliostat up with these flags leaves it: locked, with a kubeconfig and the operator's settings."""
    state = open_state(folder / "state")
    state.kubeconfig.write_bytes(Path(server.kubeconfig).read_bytes())
    with state.lock():
        write_operator_settings(state, build_local_settings(up.parse(list(flags))))
        yield state


def test_apply_takes_a_gated_field_when_the_local_operator_has_the_gate(
    server: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = gated(tmp_path)
    with local_cluster(tmp_path, server, f"--feature-gates={GATE}=true") as state:
        main(["apply", "-f", file, "--state", str(state.path)])
    assert "its definition is not installed" in capsys.readouterr().err  # taken here, and sent
    with local_cluster(tmp_path, server) as state:
        assert main(["apply", "-f", file, "--state", str(state.path)]) == 1
    assert "nothing was applied" in capsys.readouterr().err


def test_flags_of_the_operator_count_for_a_cluster_elsewhere(
    server: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = ("apply", "-f", gated(tmp_path), "--kubeconfig", str(server.kubeconfig))
    main([*there, f"--feature-gates={GATE}=true"])
    assert "nothing was applied" not in capsys.readouterr().err
    main([*there])
    assert "nothing was applied" in capsys.readouterr().err


def test_run_takes_it_when_its_own_flags_or_the_operator_that_is_up_have_the_gate(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_options: object) -> None:
        raise CommandError("the file was taken", 1)

    monkeypatch.setattr("heliostat.cli.up.open_for_use", stop)
    words = ["run", gated(tmp_path), "--state", str(tmp_path / "state")]
    main(words)
    assert "the file is refused" in capsys.readouterr().err
    main([*words, f"--feature-gates={GATE}=true"])
    assert "the file was taken" in capsys.readouterr().err
    with local_cluster(tmp_path, server, f"--feature-gates={GATE}=true"):
        main(words)
    assert "the file was taken" in capsys.readouterr().err


def test_switches_in_the_environment_of_up_are_remembered(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENABLE_LOGIN_SHELL", "true")
    with local_cluster(tmp_path, server, "--ready-probe-seconds=3") as state:
        monkeypatch.delenv("ENABLE_LOGIN_SHELL")
        found = settings_of_run(state.path, up.parse([]))
    assert (found.login_shell, found.ready_probe_seconds) == (True, 3)


def test_what_another_version_wrote_is_not_believed(tmp_path: Path) -> None:
    state = open_state(tmp_path / "state")
    assert read_operator_settings(state) is None
    write_operator_settings(state, Settings(gates={"Unheard": True}))
    assert read_operator_settings(state) is None
