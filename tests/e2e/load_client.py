"""Requests in a steady rhythm, whether those before were answered or not: what a test runs in a Pod of its own.

``python load_client.py URL RATE``; standard library and aiohttp alone. One JSON line for each request, when it is over:
when it began, which kind it was, what became of it and how long that took. What became of it is ``ok``, ``slow`` (no
answer in time, also to the question for the name: an overloaded machine), ``cut`` (refused, reset, or ended too early),
or the status of a refusal. Once the file ``STOP`` is there, no more are made, and it ends when all are over.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

import aiohttp

PATIENCE_SECONDS = 60.0
NAME_SECONDS = 5.0  # after which the system's resolver asks again, or gives up with half of an answer
PIECES = 5
STOP = Path("/tmp/stop")
STREAM_EVERY = 5  # of so many requests one is streamed


async def ask(session: aiohttp.ClientSession, url: str) -> tuple[str, str]:
    async with session.get(f"{url}/fruit", params={"amount": "1"}) as reply:
        if reply.status != 200:
            return f"status {reply.status}", (await reply.text())[:200]
        return "ok", str((await reply.json(content_type=None))["version"])


async def ask_for_stream(session: aiohttp.ClientSession, url: str) -> tuple[str, str]:
    async with session.get(f"{url}/fruit/stream", params={"pieces": str(PIECES)}) as reply:
        if reply.status != 200:
            return f"status {reply.status}", (await reply.text())[:200]
        lines = [json.loads(line) async for line in reply.content]
        if [line["piece"] for line in lines] != list(range(PIECES)):
            return "cut", f"{len(lines)} of {PIECES} pieces"
        return "ok", " ".join(sorted({str(line["version"]) for line in lines}))


async def ask_once(session: aiohttp.ClientSession, url: str, number: int, *, is_kept: bool) -> None:
    is_stream = number % STREAM_EVERY == 0
    begun, since = time.time(), time.monotonic()
    try:
        outcome, told = await (ask_for_stream if is_stream else ask)(session, url)
    except TimeoutError as error:
        outcome, told = "slow", repr(error)
    except aiohttp.ClientConnectorDNSError as error:
        is_late = time.monotonic() - since >= NAME_SECONDS
        outcome, told = "slow" if is_late else "cut", repr(error.os_error)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        outcome, told = "cut", repr(error)
    kind = ("stream" if is_stream else "unary") + (" kept" if is_kept else "")
    seconds = round(time.monotonic() - since, 4)
    line = json.dumps({"at": begun, "kind": kind, "outcome": outcome, "told": told, "seconds": seconds})
    print(line, flush=True)  # noqa: T201  the log of its Pod


async def main(url: str, rate: float, *, is_kept: bool) -> None:
    timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
    connector = aiohttp.TCPConnector(limit=0, force_close=not is_kept, use_dns_cache=False)
    async with (
        aiohttp.ClientSession(timeout=timeout, connector=connector) as session,
        asyncio.TaskGroup() as group,
    ):
        start, number = time.monotonic(), 0
        while not STOP.exists():
            await asyncio.sleep(max(0.0, start + number / rate - time.monotonic()))
            group.create_task(ask_once(session, url, number, is_kept=is_kept))
            number += 1


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), is_kept=sys.argv[3:] == ["kept"]))
