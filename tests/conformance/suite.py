"""Run many sequences on a target: custom kinds first, sequences side by side, then those that disturb others."""

import asyncio
from collections.abc import Iterable

import msgspec

from conformance.custom_kinds import COLLECTIONS, INSTALLED
from conformance.model import Sequence
from conformance.recording import Recording
from conformance.runner import record
from conformance.targets import Sent, Target

TRIES = 200
PAUSE = 0.1
HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


async def install_custom_kinds(target: Target) -> None:
    for crd in INSTALLED:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        made = await target.send(Sent("POST", path, {}, HEADERS, msgspec.json.encode(crd)))
        if made.status != 201:
            raise RuntimeError(f"{target.name}: {crd['metadata']['name']} was refused: {made.body}")
    for path in COLLECTIONS:
        await _wait_served(target, path)


async def _wait_served(target: Target, path: str) -> None:
    for _ in range(TRIES):
        if (await target.send(Sent("GET", path, {}, HEADERS, b""))).status == 200:
            return
        await asyncio.sleep(PAUSE)
    raise RuntimeError(f"{target.name}: {path} is not served")


async def record_all(
    sequences: Iterable[Sequence], target: Target, expected: dict[str, Recording] | None = None, abreast: int = 8
) -> dict[str, Recording]:
    """Recordings by name, in the order of the sequences."""
    chosen = list(sequences)
    limit = asyncio.Semaphore(abreast)

    async def one(sequence: Sequence) -> Recording:
        async with limit:
            return await record(sequence, target, (expected or {}).get(sequence.name))

    together = [sequence for sequence in chosen if not sequence.alone]
    done = dict(zip((s.name for s in together), await asyncio.gather(*map(one, together)), strict=True))
    for sequence in chosen:
        if sequence.alone:
            done[sequence.name] = await one(sequence)
    return {sequence.name: done[sequence.name] for sequence in chosen}
