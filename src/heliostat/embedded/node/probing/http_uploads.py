"""The body of a proxied request on its way into a Pod, piece by piece, beside the answer that may come before its end.

Rules: no more is taken from the client than the Pod reads; a body that breaks off ends the connection, so that the Pod
never takes half of it for the whole; a Pod that reads no further has its answer read all the same.
"""

import asyncio

from heliostat.embedded.http1.bodies import encode_chunk, encode_last_chunk
from heliostat.embedded.refusals import RefusedError
from heliostat.embedded.server.messages import GoneError, Upload


class BodySending:
    """Begins at once. Without an upload there is nothing to send."""

    def __init__(self, upload: Upload | None, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._refusal: RefusedError | None = None
        self._task = asyncio.ensure_future(self._run(upload)) if upload is not None else None

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def raise_refusal(self) -> None:
        """Of the client's body, if that is why the connection has ended."""
        if self._refusal is not None:
            raise self._refusal from None

    async def _run(self, upload: Upload) -> None:
        try:
            await self._send(upload)
        except RefusedError as refused:
            self._refusal = refused
            self._writer.transport.abort()
        except GoneError:
            self._writer.transport.abort()
        except OSError:
            return  # the Pod takes no more; what it answers says why

    async def _send(self, upload: Upload) -> None:
        is_chunked = upload.length is None
        while piece := await upload.read():
            self._writer.write(encode_chunk(piece) if is_chunked else piece)
            await self._writer.drain()
        if is_chunked:
            self._writer.write(encode_last_chunk())
            await self._writer.drain()
