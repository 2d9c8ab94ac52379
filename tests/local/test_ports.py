"""Which port the local API server gets."""

import socket
from collections.abc import Iterator

import pytest

from heliostat.local.ports import HOST, choose_port
from heliostat.local.state import State, StateError, open_state


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory) -> State:
    return open_state(tmp_path_factory.mktemp("machine") / "state")


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen(1)
        yield other.getsockname()[1]


def test_one_that_is_taken_is_refused_with_its_number_and_the_way_out(state: State, taken: int) -> None:
    with pytest.raises(StateError, match=f"port {taken} of {HOST} is taken by another program; give another one"):
        choose_port(state, taken)


def test_the_same_at_every_start(state: State) -> None:
    assert choose_port(state, 0) == choose_port(state, 0)


def test_another_when_the_one_of_before_is_taken_by_now(state: State, taken: int) -> None:
    (state.path / "port").write_text(str(taken))
    fresh = choose_port(state, 0)
    assert fresh != taken
    assert choose_port(state, 0) == fresh
