"""The SPDY state machine: the same events however bytes are cut, nothing lost, and no input that it cannot bear."""

import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.node_connections.memory_wire import SpdyOpener
from heliostat.embedded.server.upgrades.spdy_connection import (
    MOST_STREAMS,
    Broken,
    Event,
    Finished,
    Opened,
    Received,
    SpdyConnection,
    ToSend,
    WasReset,
)
from heliostat.embedded.server.upgrades.spdy_frames import (
    FLAG_FIN,
    GOAWAY,
    HEADERS,
    LONGEST_CONTROL,
    PING,
    RST_STREAM,
    SETTINGS,
    SYN_REPLY,
    SYN_STREAM,
    WINDOW_UPDATE,
    Control,
    FrameReader,
    Piece,
    build_control,
    build_data,
)
from heliostat.embedded.server.upgrades.spdy_headers import (
    LARGEST_BLOCK,
    HeaderPacker,
    HeaderUnpacker,
    SpdyError,
    build_dictionary,
)

STDIN = {"streamtype": "stdin"}
names = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=12)
headers = st.dictionaries(names, st.text(max_size=30), max_size=5)


def events_of(connection: SpdyConnection, pieces: Iterable[bytes]) -> list[Event]:
    return [event for piece in pieces for event in connection.receive(piece)]


def merged(events: Iterable[Event]) -> list[Event]:
    """Neighbouring pieces of one stream as one: where they were cut means nothing."""
    found: list[Event] = []
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, Received) and isinstance(last, Received) and last.stream == event.stream:
            found[-1] = Received(event.stream, last.data + event.data)
        else:
            found.append(event)
    return found


def cut(data: bytes, places: list[int]) -> Iterator[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    yield from (data[start:end] for start, end in pairwise(edges))


class TestHeaders:
    def test_the_dictionary_is_the_protocol_s(self) -> None:
        assert zlib.adler32(build_dictionary()) == 0xE3C6A7C2

    @given(st.lists(headers, max_size=5))
    def test_blocks_come_out_as_they_went_in_one_after_another(self, blocks: list[dict[str, str]]) -> None:
        packer, unpacker = HeaderPacker(), HeaderUnpacker()
        assert [unpacker.unpack(packer.pack(block)) for block in blocks] == blocks

    @given(st.binary(max_size=200))
    def test_no_block_is_too_strange(self, block: bytes) -> None:
        packed = zlib.compressobj(zdict=build_dictionary())
        for strange in (block, packed.compress(block) + packed.flush(zlib.Z_SYNC_FLUSH)):
            with suppress(SpdyError):
                assert all(name == name.lower() for name in HeaderUnpacker().unpack(strange))

    def test_a_small_block_cannot_become_a_large_one(self) -> None:
        packed = HeaderPacker().pack({"x": "0" * LARGEST_BLOCK})
        assert len(packed) < 1000
        with pytest.raises(SpdyError, match="more than"):
            HeaderUnpacker().unpack(packed)


class TestFrames:
    @given(
        st.lists(
            st.builds(Control, st.integers(1, 9), st.integers(0, 255), st.binary(max_size=40))
            | st.builds(Piece, st.integers(1, 2**31 - 1), st.binary(max_size=300), st.booleans()),
            max_size=8,
        ),
        st.lists(st.integers(0, 3000), max_size=10),
    )
    def test_frames_come_out_as_they_went_in_however_they_are_cut(
        self, frames: list[Control | Piece], places: list[int]
    ) -> None:
        wire = b"".join(
            build_data(frame.stream, frame.data, is_last=frame.is_last)
            if isinstance(frame, Piece)
            else build_control(frame.kind, frame.body, frame.flags)
            for frame in frames
        )
        reader = FrameReader()
        found: list[Control | Piece] = []
        is_whole = True
        for frame in (frame for piece in cut(wire, places) for frame in reader.read(piece)):
            last = found[-1] if found else None
            if not is_whole and isinstance(frame, Piece) and isinstance(last, Piece):
                found[-1] = Piece(frame.stream, last.data + frame.data, frame.is_last)
            else:
                found.append(frame)
            expected = frames[len(found) - 1]
            is_whole = not isinstance(expected, Piece) or found[-1] == expected
        assert found == frames

    def test_a_control_frame_has_a_largest_size(self) -> None:
        head = build_control(SETTINGS, bytes(LONGEST_CONTROL + 1))[:8]
        with pytest.raises(SpdyError, match="is the most"):
            list(FrameReader().read(head))

    def test_data_is_passed_on_before_its_frame_has_ended(self) -> None:
        frame = build_data(1, bytes(1_000_000), is_last=True)
        assert list(FrameReader().read(frame[:108])) == [Piece(1, bytes(100))]


def conversation() -> bytes:
    """One of everything."""
    opener = SpdyOpener()
    one, opens_one = opener.open({"streamtype": "error"})
    two, opens_two = opener.open(STDIN)
    _, opens_ended = opener.open({"streamtype": "stdout"}, FLAG_FIN)
    return b"".join(
        (
            opens_one,
            build_control(SETTINGS, bytes(4)),
            opens_two,
            build_data(two, b"hello"),
            build_control(PING, struct.pack(">I", 1)),
            build_data(two, b" world", is_last=True),
            build_data(two, b"after the end"),
            build_control(WINDOW_UPDATE, struct.pack(">II", two, 100)),
            build_control(HEADERS, struct.pack(">I", two)),
            build_control(PING, struct.pack(">I", 2)),
            opens_ended,
            build_control(RST_STREAM, struct.pack(">II", one, 5)),
            build_control(RST_STREAM, struct.pack(">II", one, 5)),
            build_data(99, b"nobody's"),
            build_control(GOAWAY, struct.pack(">II", 0, 0)),
            build_data(two, b"too late"),
        )
    )


TOLD = [
    Opened(1, {"streamtype": "error"}),
    Opened(3, STDIN),
    Received(3, b"hello"),
    ToSend(build_control(PING, struct.pack(">I", 1))),
    Received(3, b" world"),
    Finished(3),
    Opened(5, {"streamtype": "stdout"}),
    Finished(5),
    WasReset(1),
    Broken("the client went away"),
]


class TestConnection:
    @given(st.lists(st.integers(0, 2000), max_size=20))
    def test_the_same_is_told_however_bytes_are_cut(self, places: list[int]) -> None:
        assert merged(events_of(SpdyConnection(), cut(conversation(), places))) == TOLD

    @given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=5))
    def test_no_bytes_are_too_strange(self, data: bytes, places: list[int]) -> None:
        events = events_of(SpdyConnection(), cut(data, places))
        assert [isinstance(event, Broken) for event in events].count(True) <= 1
        assert not any(isinstance(event, Broken) for event in events[:-1])

    @given(st.integers(0, 700), st.integers(0, 255))
    def test_one_wrong_byte_is_borne(self, place: int, byte: int) -> None:
        data = bytearray(conversation())
        data[place % len(data)] = byte
        events_of(SpdyConnection(), [bytes(data)])

    @pytest.mark.parametrize(
        ("frames", "why"),
        [
            ([build_control(SYN_STREAM, bytes(9))], "too short"),
            ([SpdyOpener().frame(2, STDIN)], "stream 2 is opened after stream 0"),
            ([SpdyOpener().frame(0, STDIN)], "stream 0 is opened after stream 0"),
            ([build_control(SYN_STREAM, struct.pack(">IIBB", 1, 0, 0, 0) + b"no zlib")], "cannot be unpacked"),
            ([build_control(PING, b"")], "too short"),
            ([b"\x80\x02\x00\x01" + bytes(4)], "version 2"),
        ],
    )
    def test_who_breaks_the_protocol_is_told_to_go_away(self, frames: list[bytes], why: str) -> None:
        connection = SpdyConnection()
        events = events_of(connection, [*frames, b"\xff" * 8])
        assert isinstance(events[-1], Broken)
        assert why in events[-1].why
        assert isinstance(events[-2], ToSend)
        assert next(FrameReader().read(events[-2].data)) == Control(GOAWAY, 0, struct.pack(">II", 0, 1))
        assert events_of(connection, [SpdyOpener().open(STDIN)[1]]) == []

    def test_numbers_of_streams_rise(self) -> None:
        opener = SpdyOpener()
        events = events_of(SpdyConnection(), [opener.frame(5, STDIN), opener.frame(3, STDIN)])
        assert events[-1] == Broken("stream 3 is opened after stream 5")

    def test_a_stream_too_many_is_refused_and_the_others_go_on(self) -> None:
        opener, connection = SpdyOpener(), SpdyConnection()
        events = events_of(connection, [opener.open(STDIN)[1] for _ in range(MOST_STREAMS + 1)])
        refused = MOST_STREAMS * 2 + 1
        assert events[-1] == ToSend(build_control(RST_STREAM, struct.pack(">II", refused, 3)))
        assert events_of(connection, [build_data(1, b"x")]) == [Received(1, b"x")]
        connection.reset(1)
        assert isinstance(events_of(connection, [opener.open(STDIN)[1]])[0], Opened)

    def test_a_stream_ends_once_in_each_direction(self) -> None:
        connection = SpdyConnection()
        number, opens = SpdyOpener().open(STDIN)
        events_of(connection, [opens])
        reply = next(FrameReader().read(connection.reply(number)))
        assert isinstance(reply, Control)
        assert (reply.kind, reply.body[:4]) == (SYN_REPLY, struct.pack(">I", number))
        assert connection.send(number, b"x") == build_data(number, b"x")
        assert connection.finish(number) == build_data(number, b"", is_last=True)
        assert connection.send(number, b"x") == b""
        assert connection.finish(number) == b""
        assert events_of(connection, [build_data(number, b"y", is_last=True)]) == [
            Received(number, b"y"),
            Finished(number),
        ]
        assert connection.reset(number) == b""
