"""Put a sequence to a target and note what it answers, step by step.

The namespace and its service account, which a controller would make, are made before the first step and not noted.
"""

import asyncio
from typing import Any

import msgspec

from conformance.masking import mask
from conformance.model import Call, Compact, Json, OpenWatch, ReadWatch, Sequence, Settle, Step
from conformance.recording import Recording, Reply, WatchRead, digest_of
from conformance.targets import Sent, Target, WatchReader
from conformance.variables import Variables

TRIES = 100
PAUSE = 0.1


async def record(sequence: Sequence, target: Target, expected: Recording | None = None) -> Recording:
    """The masked recording; ``expected`` only tells how many events to wait for."""
    raw = await _Run(sequence, target, expected).run()
    return Recording(digest_of(sequence), mask(sequence, raw))


class _Run:
    def __init__(self, sequence: Sequence, target: Target, expected: Recording | None) -> None:
        self._sequence = sequence
        self._target = target
        self._expected = expected
        self._variables = Variables(ns=sequence.namespace, seq=sequence.name)
        self._watches: dict[str, WatchReader] = {}

    async def run(self) -> list[Reply | WatchRead]:
        await self._prepare_namespace()
        try:
            return [await self._step(index, step) for index, step in enumerate(self._sequence.steps)]
        finally:
            for reader in self._watches.values():
                await reader.close()

    async def _prepare_namespace(self) -> None:
        namespace = self._sequence.namespace
        body: Json = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": namespace}}
        made = await self._target.send(_post("/api/v1/namespaces", body))
        if made.status != 201:
            raise RuntimeError(f"{self._target.name}: namespace {namespace} was not made: {made}")
        account: Json = {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "default"}}
        await self._target.send(_post(f"/api/v1/namespaces/{namespace}/serviceaccounts", account))

    async def _step(self, index: int, step: Step) -> Reply | WatchRead:
        match step:
            case Call():
                return await self._call(step)
            case OpenWatch():
                return await self._open(step)
            case ReadWatch():
                return await self._read(index, step)
            case Compact():
                await self._target.compact()
                return Reply(0)
            case Settle():
                await self._target.catch_up()
                return Reply(0)

    async def _call(self, step: Call) -> Reply:
        sent = self._fill(step.method, step)
        reply = await self._target.send(sent)
        for _ in range(TRIES if step.until else 0):
            if reply.status == step.until:
                break
            await asyncio.sleep(PAUSE)
            reply = await self._target.send(sent)
        self._variables.learn(reply.body, step.save)
        return reply

    def _fill(self, method: str, step: Call | OpenWatch) -> Sent:
        fill = self._variables.fill
        body = _encode(fill(step.body)) if isinstance(step, Call) else b""
        headers = {"Accept": "application/json", "User-Agent": "conformance/1", **fill(step.headers)}
        if body:
            headers = {"Content-Type": "application/json", **headers}
        return Sent(method, self._variables.fill_text(step.path), fill(step.query), headers, body)

    async def _open(self, step: OpenWatch) -> Reply:
        reply, reader = await self._target.watch(self._fill("GET", step))
        if reader is not None:
            self._watches[step.watch] = reader
        return reply

    async def _read(self, index: int, step: ReadWatch) -> WatchRead:
        reader = self._watches.get(step.watch)
        if reader is None:  # it was refused
            return WatchRead((), ended=True)
        await self._target.settle(reader, self._events_expected(index))
        events = reader.take()
        for event in events:
            self._variables.learn(event.get("object"), {})
        return WatchRead(events, reader.ended)

    def _events_expected(self, index: int) -> int:
        steps: list[Any] = self._expected.steps if self._expected else []
        return len(steps[index].get("events", ())) if index < len(steps) else 0


def _post(path: str, body: Json) -> Sent:
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "conformance/1"}
    return Sent("POST", path, {}, headers, msgspec.json.encode(body))


def _encode(body: Json) -> bytes:
    if body is None:
        return b""
    return body.encode() if isinstance(body, str) else msgspec.json.encode(body)
