"""Streams over a WebSocket: every message begins with the number of its channel.

Rules: a channel the client may not write to is ignored, as is one that is not there; in the text form a message is
base64 behind a digit; from v5 on, the client can end a channel by a message of its own. The server ends none: the
connection ends with the last word.
"""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Iterable

from msgspec import Struct

from heliostat.embedded.server.messages import Wire
from heliostat.embedded.server.upgrades.inboxes import Inbox

CLOSE = 255
_DIGIT = ord("0")
_WRITTEN_AT_ONCE = 32 * 1024  # bytes in a message, as kubectl and the kubelet do it


class Message(Struct, frozen=True):
    channel: int
    data: bytes


class Closed(Struct, frozen=True):
    channel: int


class ChannelForm(Struct, frozen=True):
    """How messages look under a subprotocol."""

    is_text: bool = False
    can_close: bool = False

    def read(self, message: bytes) -> Message | Closed | None:
        """None for what means nothing."""
        if not message:
            return None
        if self.can_close and message[0] == CLOSE:
            return Closed(message[1]) if len(message) == 2 else None
        if not self.is_text:
            return Message(message[0], message[1:])
        try:
            return Message(message[0] - _DIGIT, b64decode(message[1:], validate=True))
        except binascii.Error:
            return None

    def build(self, channel: int, data: bytes) -> bytes:
        if self.is_text:
            return bytes((_DIGIT + channel,)) + b64encode(data)
        return bytes((channel,)) + data


class Channel:
    def __init__(self, number: int, form: ChannelForm, wire: Wire, inbox: Inbox | None) -> None:
        self._number = number
        self._form = form
        self._wire = wire
        self._inbox = inbox

    async def read(self) -> bytes:
        return await self._inbox.read() if self._inbox is not None else b""

    async def write(self, data: bytes) -> None:
        """An empty message counts, too: it tells a client that somebody is there."""
        for start in range(0, max(len(data), 1), _WRITTEN_AT_ONCE):
            await self._wire.send(self._form.build(self._number, data[start : start + _WRITTEN_AT_ONCE]))

    async def finish(self) -> None:
        """Nothing to say: see above."""


class Channels:
    def __init__(self, wire: Wire, form: ChannelForm, readable: Iterable[int]) -> None:
        self._wire = wire
        self._form = form
        self._inboxes = {number: Inbox() for number in readable}

    def channel(self, number: int) -> Channel:
        return Channel(number, self._form, self._wire, self._inboxes.get(number))

    def leave(self, number: int) -> None:
        """Nobody reads this channel any more."""
        self._inboxes[number].abandon()

    async def serve_incoming(self) -> None:
        """Until the client is gone."""
        while (message := await self._wire.receive()) is not None:
            found = self._form.read(message)
            inbox = self._inboxes.get(found.channel) if found is not None else None
            if inbox is None:
                continue
            if isinstance(found, Message):
                await inbox.put(found.data)
            else:
                inbox.end()
