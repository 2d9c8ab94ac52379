"""The last words of a container."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.node.shim.container_log import ContainerLog
from heliostat.embedded.node.termination import MOST_OF_FILE, MOST_OF_LOG, read_end_of_log, read_message_file


def test_a_message_is_cut_where_kubelets_cut_it(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(b"x" * 10_000)
    assert read_message_file(tmp_path / "m") == "x" * MOST_OF_FILE
    assert read_message_file(tmp_path / "none") == ""


def test_the_end_of_a_log_has_no_stamps_and_at_most_eighty_lines(tmp_path: Path) -> None:
    log = ContainerLog(str(tmp_path / "log"), 10**9)
    log.write("stdout", b"".join(b"%d\n" % number for number in range(1000)))
    log.write("stderr", b"torn")
    log.close()
    lines = read_end_of_log(tmp_path / "log").splitlines()
    assert lines == [*(str(number) for number in range(921, 1000)), "torn"]


def test_a_long_line_is_put_together_and_its_end_is_kept(tmp_path: Path) -> None:
    log = ContainerLog(str(tmp_path / "log"), 10**9)
    log.write("stdout", b"a" * 100_000 + b"end\n")
    log.close()
    assert read_end_of_log(tmp_path / "log") == "a" * (MOST_OF_LOG - 4) + "end\n"


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert read_end_of_log(tmp_path / "none") == ""


@given(st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=30))
def test_short_logs_are_told_in_full(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    log = ContainerLog(str(path), 10**9)
    log.write("stdout", b"".join(line + b"\n" for line in lines))
    log.close()
    assert read_end_of_log(path) == b"".join(line + b"\n" for line in lines).decode(errors="replace")
