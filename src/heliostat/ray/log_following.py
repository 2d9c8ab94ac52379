"""The log of a driver as it grows: over Ray's WebSocket where the transport has one, else by asking again and again.

Rules: every character is told once and in order, whatever breaks: a stream begins with the first character of the log,
so after a broken one what was told already is skipped. It ends when the job is over and all of its log was told.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

from heliostat.ray.dashboard import RayDashboard
from heliostat.runtime.errors import ApiError, NotFoundError

POLL_SECONDS = 0.5
PATIENCE_SECONDS = 60.0  # for a dashboard that does not answer


async def follow_logs(dashboard: RayDashboard, id_: str) -> AsyncIterator[str]:
    """Raises NotFoundError for a job that Ray does not know, and the last error when nobody answers any more."""
    clock = asyncio.get_running_loop().time
    told, silent_since = 0, clock()
    while True:
        try:
            is_over = (await dashboard.fetch_job(id_)).is_over
            if not is_over:
                async for text in _skip(dashboard, id_, told):
                    told, silent_since = told + len(text), clock()
                    yield text
                is_over = (await dashboard.fetch_job(id_)).is_over
            text = (await dashboard.fetch_logs(id_))[told:]
            silent_since = clock()
        except NotFoundError:
            raise
        except ApiError:
            if clock() - silent_since > PATIENCE_SECONDS:
                raise
            is_over, text = False, ""
        if text:
            told += len(text)
            yield text
        if is_over:
            return
        await asyncio.sleep(POLL_SECONDS)


async def _skip(dashboard: RayDashboard, id_: str, told: int) -> AsyncIterator[str]:
    """What a stream of the whole log tells beyond so many characters."""
    async with aclosing(dashboard.tail_logs(id_)) as stream:
        async for text in stream:
            fresh, told = text[told:], max(0, told - len(text))
            if fresh:
                yield fresh
