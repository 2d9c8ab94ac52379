"""Container logs as clients read them: cut, tailed, with times, across the file that was put away, and onwards."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.node.logs.log_files import LogChunks, LogFiles
from heliostat.embedded.node.logs.log_lines import LogWriter, Wanted, build_wanted, format_log_time
from heliostat.embedded.node.shim.container_log import ContainerLog
from heliostat.embedded.server.nodes.node_backend import LogOptions

A = "2026-01-02T03:04:05.000000006Z"
B = "2026-01-02T03:04:06.000000000Z"

LINES = [
    ((f"{A} stdout F one", f"{B} stderr F two"), Wanted(), b"one\ntwo\n"),
    ((f"{A} stdout P on", f"{B} stdout F e", f"{B} stdout P last"), Wanted(), b"one\nlast"),
    ((f"{A} stdout P on", f"{B} stdout F e"), Wanted(has_times=True), f"{A} one\n".encode()),
    ((f"{A} stdout F ",), Wanted(has_times=True), f"{A} \n".encode()),
    ((f"{A} stdout F one", f"{B} stdout F two"), Wanted(since=B.encode()), b"two\n"),
    ((f"{A} stdout F one", f"{B} stdout F two"), Wanted(most_bytes=6), b"one\ntw"),
    (("torn", f"{A} stdout F a b  c"), Wanted(), b"a b  c\n"),
]


@pytest.mark.parametrize(("lines", "wanted", "expected"), LINES)
def test_lines_are_converted_as_wanted(lines: tuple[str, ...], wanted: Wanted, expected: bytes) -> None:
    assert LogWriter(wanted).write(line.encode() for line in lines) == expected


SINCE = [
    (LogOptions(container="c"), b""),
    (LogOptions(container="c", since_seconds=10), b"1970-01-01T00:16:30.500000000Z"),
    (LogOptions(container="c", since_time="1970-01-01T01:00:00+01:00"), b"1970-01-01T00:00:00.000000000Z"),
]


@pytest.mark.parametrize(("options", "since"), SINCE)
def test_the_first_moment_is_told_in_the_form_of_the_lines(options: LogOptions, since: bytes) -> None:
    assert build_wanted(options, 1000.5).since == since


def test_a_time_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="yesterday"):
        build_wanted(LogOptions(container="c", since_time="yesterday"), 0.0)


def test_moments_compare_as_text() -> None:
    moments = [0.0, 1.25, 1.5, 1e9, 1.7e9 + 0.001]
    assert sorted(moments) == sorted(moments, key=format_log_time)


def read_all(files: LogFiles, wanted: Wanted | None = None) -> bytes:
    async def read() -> bytes:
        chunks = LogChunks(files, LogWriter(wanted or Wanted()), lambda: True, follows=False)
        try:
            return b"".join([piece async for piece in chunks])
        finally:
            await chunks.aclose()

    return asyncio.run(read())


def stored(path: Path, texts: list[str]) -> None:
    path.write_text("".join(f"{A} stdout F {text}\n" for text in texts))


@given(old=st.integers(0, 30), new=st.integers(0, 30), tail=st.integers(0, 70), width=st.integers(0, 20_000))
def test_the_last_lines_are_the_last_of_both_files(
    tmp_path_factory: pytest.TempPathFactory, old: int, new: int, tail: int, width: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "0.log"
    texts = [f"{number}" + "x" * width for number in range(old + new)]
    stored(Path(f"{path}.1"), texts[:old])
    stored(path, texts[old:])
    files = LogFiles(path)
    files.skip_to_last(tail)
    expected = texts[len(texts) - min(tail, len(texts)) :]
    assert read_all(files).decode().splitlines() == expected


def test_without_a_file_there_is_no_text(tmp_path: Path) -> None:
    assert read_all(LogFiles(tmp_path / "0.log")) == b""


@pytest.mark.parametrize("lines_between_looks", [1, 7, 100])
def test_a_follower_misses_nothing_while_files_are_put_away(tmp_path: Path, lines_between_looks: int) -> None:
    """Unless two files fill up between two of its looks: it is bound to lose the first of them only then."""
    path = tmp_path / "0.log"
    log = ContainerLog(str(path), most_bytes=5000)
    is_over = False

    async def follow() -> bytes:
        nonlocal is_over
        chunks = LogChunks(LogFiles(path), LogWriter(Wanted()), lambda: is_over, follows=True)
        found = b""
        for number in range(1000):
            log.write("stdout", b"%d\n" % number)
            if number % lines_between_looks == 0:
                found += await anext(chunks)
        log.close()
        is_over = True
        async for piece in chunks:
            found += piece
        await chunks.aclose()
        return found

    assert asyncio.run(follow()).split() == [b"%d" % number for number in range(1000)]


def test_closing_before_the_first_piece_closes_the_files(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    stored(path, ["one"])

    async def close() -> None:
        await LogChunks(LogFiles(path), LogWriter(Wanted()), lambda: True, follows=True).aclose()

    asyncio.run(close())  # a file that stays open is a warning, and warnings are errors
