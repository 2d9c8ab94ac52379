"""Commands and forwards over a connection in memory: what the back end sees, what clients hear, who waits for whom."""

import asyncio
import json
import struct
from base64 import b64encode
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.node_connections.memory_wire import MemoryWire, SpdyOpener
from heliostat.embedded.server.messages import WebSocket
from heliostat.embedded.server.nodes.node_backend import Execution, Exited, Failed, Outcome, Terminal, TerminalSize
from heliostat.embedded.server.upgrades.channels import ChannelForm, Closed, Message
from heliostat.embedded.server.upgrades.commands import CommandStreams, StreamTerminal, build_command_upgrade
from heliostat.embedded.server.upgrades.forwards import build_forward_upgrade, is_no_forward, request_of
from heliostat.embedded.server.upgrades.inboxes import ROOM, Inbox
from heliostat.embedded.server.upgrades.negotiation import Spoken
from heliostat.embedded.server.upgrades.outcomes import build_outcome
from heliostat.embedded.server.upgrades.spdy_frames import Control, FrameReader, Piece, build_data
from heliostat.embedded.server.upgrades.streams import ByteStream, Nowhere

V5 = Spoken(protocol="v5.channel.k8s.io", websocket=WebSocket("v5.channel.k8s.io"))
V4_TEXT = Spoken(protocol="v4.base64.channel.k8s.io", websocket=WebSocket("v4.base64.channel.k8s.io", is_text=True))
ON_SPDY = Spoken(protocol="v4.channel.k8s.io")
FORWARD = Spoken(protocol="portforward.k8s.io")
ALL = Execution(container="a", command=("x",), stdin=True, stdout=True, stderr=True)
SUCCESS = {"metadata": {}, "status": "Success"}
DEADLINE = 10.0


def run(test: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await test

    asyncio.run(bounded())


async def settle(test: Callable[[], bool]) -> None:
    while not test():
        await asyncio.sleep(0)


async def echo(terminal: Terminal) -> Outcome:
    while data := await terminal.read_stdin():
        await terminal.write_stdout(data)
        await terminal.write_stderr(data.upper())
    return Exited()


def frames_of(wire: MemoryWire) -> list[Control | Piece]:
    return list(FrameReader().read(b"".join(wire.sent)))


class TestOutcomes:
    def test_success(self) -> None:
        assert json.loads(build_outcome(Exited(0), "exec", tells_status=True)) == SUCCESS
        assert build_outcome(Exited(0), "exec", tells_status=False) == b""

    def test_an_exit_code(self) -> None:
        told = json.loads(build_outcome(Exited(3), "exec", tells_status=True))
        assert (told["status"], told["reason"]) == ("Failure", "NonZeroExitCode")
        assert told["details"] == {"causes": [{"reason": "ExitCode", "message": "3"}]}
        assert b"exit code 3" in build_outcome(Exited(3), "exec", tells_status=False)

    @pytest.mark.parametrize(
        ("kind", "doing"),
        [("exec", "error executing command in container"), ("attach", "error attaching to container")],
    )
    def test_a_failure(self, kind: str, doing: str) -> None:
        told = json.loads(build_outcome(Failed("it is gone"), kind, tells_status=True))
        assert (told["reason"], told["code"]) == ("InternalError", 500)
        assert told["message"] == f"Internal error occurred: {doing}: it is gone"


class TestChannels:
    @given(st.booleans(), st.integers(0, 4), st.binary(max_size=100))
    def test_a_message_comes_out_as_it_went_in(self, is_text: bool, channel: int, data: bytes) -> None:
        form = ChannelForm(is_text=is_text)
        assert form.read(form.build(channel, data)) == Message(channel, data)

    @given(st.booleans(), st.booleans(), st.binary(max_size=20))
    def test_no_message_is_too_strange(self, is_text: bool, can_close: bool, message: bytes) -> None:
        found = ChannelForm(is_text=is_text, can_close=can_close).read(message)
        assert found is None or isinstance(found, Message | Closed)

    def test_only_the_newest_protocol_can_end_a_channel(self) -> None:
        assert ChannelForm(can_close=True).read(b"\xff\x00") == Closed(0)
        assert ChannelForm(can_close=True).read(b"\xff") is None
        assert ChannelForm().read(b"\xff\x00") == Message(255, b"\0")

    def test_a_command_hears_and_says(self) -> None:
        async def test() -> None:
            wire = MemoryWire()
            for message in (b"\0hello", b"\1not for the client to say", b"\7no such channel", b"", b"\xff\0"):
                wire.say(message)
            await build_command_upgrade(V5, ALL, "exec", echo).converse(wire)
            assert wire.sent[:3] == [b"\1", b"\1hello", b"\2HELLO"]
            assert wire.sent[3][0] == 3
            assert json.loads(wire.sent[3][1:]) == SUCCESS
            assert len(wire.sent) == 4

        run(test())

    def test_what_was_not_asked_for_is_not_sent(self) -> None:
        async def test() -> None:
            wire = MemoryWire()
            wire.say(b"\0ignored")
            only_errors = Execution(container="a", command=("x",), stderr=True)

            async def speak(terminal: Terminal) -> Outcome:
                assert await terminal.read_stdin() == b""
                await terminal.write_stdout(b"out")
                await terminal.write_stderr(b"err")
                return Exited(1)

            await build_command_upgrade(V5, only_errors, "exec", speak).converse(wire)
            assert [message[:4] for message in wire.sent[:2]] == [b"\2", b"\2err"]
            assert [message[0] for message in wire.sent] == [2, 2, 3]

        run(test())

    def test_the_text_form_is_base64(self) -> None:
        async def test() -> None:
            wire = MemoryWire()

            async def once(terminal: Terminal) -> Outcome:
                await terminal.write_stdout((await terminal.read_stdin()).upper())
                return Exited()

            wire.say(b"0" + b64encode(b"hello"))
            await build_command_upgrade(V4_TEXT, ALL, "exec", once).converse(wire)
            assert wire.sent[:2] == [b"1", b"1" + b64encode(b"HELLO")]
            assert wire.sent[2].startswith(b"3")

        run(test())


class TestSpdy:
    def test_a_command_starts_when_its_streams_are_there(self) -> None:
        async def test() -> None:
            wire, opener = MemoryWire(), SpdyOpener()
            for name in ("error", "stdin", "stdout"):
                wire.say(opener.open({"streamtype": name})[1])
            wire.say(build_data(3, b"early", is_last=True))
            talking = asyncio.ensure_future(build_command_upgrade(ON_SPDY, ALL, "exec", echo).converse(wire))
            await settle(lambda: wire.waiting == 0)
            assert all(isinstance(frame, Control) for frame in frames_of(wire))
            wire.say(opener.open({"streamtype": "stderr"})[1])
            await talking
            pieces = [frame for frame in frames_of(wire) if isinstance(frame, Piece)]
            assert pieces[:4] == [Piece(5, b"early"), Piece(7, b"EARLY"), Piece(5, b"", True), Piece(7, b"", True)]
            assert (pieces[4].stream, json.loads(pieces[4].data)) == (1, SUCCESS)
            assert pieces[5:] == [Piece(1, b"", True)]

        run(test())

    def test_a_stream_of_no_known_kind_is_reset(self) -> None:
        async def test() -> None:
            wire = MemoryWire()
            wire.say(SpdyOpener().open({"streamtype": "stdhuh"})[1])
            talking = asyncio.ensure_future(build_command_upgrade(ON_SPDY, ALL, "exec", echo).converse(wire))
            await settle(lambda: bool(wire.sent))
            assert frames_of(wire) == [Control(3, 0, struct.pack(">II", 1, 1))]
            wire.go()
            await talking

        run(test())

    def test_streams_of_a_forward_are_paired_by_their_request(self) -> None:
        async def test() -> None:
            wire, opener = MemoryWire(), SpdyOpener()
            for kind in ("error", "data"):
                for request in ("0", "1"):
                    headers = {"streamtype": kind, "port": f"8{request}", "requestid": request}
                    wire.say(opener.open(headers)[1])
            wire.say(build_data(7, b"seven") + build_data(5, b"five", is_last=True))
            seen: dict[int, bytes] = {}

            async def forward(port: int, stream: ByteStream) -> Failed | None:
                seen[port] = await stream.read()
                await stream.write(seen[port].upper())
                return Failed("enough") if port == 81 else None

            upgrade = build_forward_upgrade(FORWARD, (), forward, lambda port, why: f"{port}: {why}")
            talking = asyncio.ensure_future(upgrade.converse(wire))
            await settle(lambda: sum(isinstance(frame, Piece) for frame in frames_of(wire)) == 7)
            wire.go()
            await talking
            assert seen == {80: b"five", 81: b"seven"}
            said = dict.fromkeys((1, 3, 5, 7), b"")
            for frame in frames_of(wire):
                if isinstance(frame, Piece):
                    said[frame.stream] += frame.data
            assert said == {1: b"", 3: b"81: enough", 5: b"FIVE", 7: b"SEVEN"}

        run(test())

    @pytest.mark.parametrize(
        ("headers", "is_refused"),
        [
            ({"streamtype": "data", "port": "80"}, False),
            ({"streamtype": "error", "port": "65535"}, False),
            ({"streamtype": "data"}, True),
            ({"streamtype": "data", "port": "0"}, True),
            ({"streamtype": "data", "port": "65536"}, True),
            ({"streamtype": "data", "port": "٣"}, True),
            ({"streamtype": "data", "port": "9" * 5000}, True),
            ({"streamtype": "stdin", "port": "80"}, True),
        ],
    )
    def test_a_stream_of_a_forward_has_a_port_and_a_kind(self, headers: dict[str, str], is_refused: bool) -> None:
        assert is_no_forward(headers) is is_refused

    def test_streams_of_older_clients_are_paired_by_their_numbers(self) -> None:
        error, data = {"streamtype": "error"}, {"streamtype": "data"}
        assert request_of(5, error) == request_of(7, data) == "5"
        assert request_of(7, {**data, "requestid": "x"}) == "x"


class TestEnds:
    @pytest.mark.parametrize("spoken", [V5, ON_SPDY])
    def test_a_client_that_goes_cancels_the_command_once(self, spoken: Spoken) -> None:
        async def test() -> None:
            wire, opener = MemoryWire(), SpdyOpener()
            cleaned: list[bool] = []

            async def sleep(_terminal: Terminal) -> Outcome:
                started.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    wire.go()
                    for _ in range(10):
                        await asyncio.sleep(0)
                    cleaned.append(True)
                return Exited()

            if spoken.is_spdy:
                for name in ("error", "stdin", "stdout", "stderr"):
                    wire.say(opener.open({"streamtype": name})[1])
            started = asyncio.Event()
            talking = asyncio.ensure_future(build_command_upgrade(spoken, ALL, "exec", sleep).converse(wire))
            await started.wait()
            wire.go()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            talking.cancel()
            await asyncio.wait([talking])
            assert cleaned == [True]

        run(test())

    def test_a_bug_of_the_back_end_is_told_and_raised(self) -> None:
        async def test() -> None:
            wire = MemoryWire()

            async def fail(_: Terminal) -> Outcome:
                raise ZeroDivisionError("secret")

            with pytest.raises(ZeroDivisionError):
                await build_command_upgrade(V5, ALL, "exec", fail).converse(wire)
            told = json.loads(wire.sent[-1][1:])
            assert told["reason"] == "InternalError"
            assert "secret" not in told["message"]

        run(test())


class TestWaiting:
    def test_a_client_that_does_not_read_holds_the_command(self) -> None:
        async def test() -> None:
            wire, written = MemoryWire(unread=100_000), 0

            async def pour(terminal: Terminal) -> Outcome:
                nonlocal written
                for _ in range(100):
                    await terminal.write_stdout(bytes(10_000))
                    written += 10_000
                return Exited()

            talking = asyncio.ensure_future(build_command_upgrade(V5, ALL, "exec", pour).converse(wire))
            await settle(lambda: sum(map(len, wire.sent)) >= 100_000)
            for _ in range(100):
                await asyncio.sleep(0)
            assert written <= 110_000
            taken = b""
            while not talking.done():
                taken += await wire.take_all()
                await asyncio.sleep(0)
            assert taken.count(0) >= 1_000_000

        run(test())

    @pytest.mark.parametrize("spoken", [V5, ON_SPDY])
    def test_a_command_that_does_not_read_holds_the_client(self, spoken: Spoken) -> None:
        async def test() -> None:
            wire, opener, go_on = MemoryWire(), SpdyOpener(), asyncio.Event()

            async def hesitate(terminal: Terminal) -> Outcome:
                await go_on.wait()
                heard = 0
                while data := await terminal.read_stdin():
                    heard += len(data)
                return Exited(0 if heard == 100 * 50_000 else 1)

            if spoken.is_spdy:
                for name in ("error", "stdin", "stdout", "stderr"):
                    wire.say(opener.open({"streamtype": name})[1])
            for _ in range(100):
                wire.say(build_data(3, bytes(50_000)) if spoken.is_spdy else bytes(50_001))
            wire.say(build_data(3, b"", is_last=True) if spoken.is_spdy else b"\xff\0")
            talking = asyncio.ensure_future(build_command_upgrade(spoken, ALL, "exec", hesitate).converse(wire))
            for _ in range(300):
                await asyncio.sleep(0)
            assert wire.waiting >= 101 - ROOM // 50_000 - 2
            go_on.set()
            await talking
            assert b'"Success"' in b"".join(wire.sent)

        run(test())

    def test_an_inbox_without_a_reader_holds_nobody(self) -> None:
        async def test() -> None:
            inbox = Inbox(room=1)
            await inbox.put(b"full")
            inbox.abandon()
            await inbox.put(b"more")
            assert await inbox.read() == b""

        run(test())


BAD_SIZES = [b"null", b'{"Width":0,"Height":5}', b'{"Width":"x"}', b"[" * 4000 + b"}", b"[" * 9000, b"}", b"\xff}"]


class TestSizes:
    @given(st.lists(st.tuples(st.integers(1, 65535), st.integers(1, 65535)), max_size=5), st.integers(1, 30))
    def test_sizes_are_read_however_they_are_cut(self, sizes: list[tuple[int, int]], piece: int) -> None:
        async def test() -> None:
            text = "".join(f'{{"Width":{width},"Height":{height}}}\n' for width, height in sizes).encode()
            resize = Inbox()
            for start in range(0, len(text), piece):
                await resize.put(text[start : start + piece])
            resize.end()
            terminal = StreamTerminal(CommandStreams(error=Nowhere(), resize=_Reading(resize)))
            found = [await terminal.read_size() for _ in range(len(sizes) + 1)]
            assert found == [*(TerminalSize(width, height) for width, height in sizes), None]

        run(test())

    @pytest.mark.parametrize("text", BAD_SIZES)
    def test_what_is_no_size_ends_the_sizes(self, text: bytes) -> None:
        async def test() -> None:
            resize = Inbox()
            await resize.put(text)
            resize.end()
            terminal = StreamTerminal(CommandStreams(error=Nowhere(), resize=_Reading(resize)))
            assert await terminal.read_size() is None

        run(test())


class _Reading(Nowhere):
    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    async def read(self) -> bytes:
        return await self._inbox.read()
