"""What the operator makes of a Serve proxy that does not answer."""

import asyncio
from typing import Any

import msgspec
import pytest

from heliostat.operator.ray_access import RayAccess
from heliostat.operator.rayservice.calls import MOST_SILENCES, ServeCalls
from heliostat.plan.rayservice.answers import AskProxy
from heliostat.ray.ways import DirectWays, ProxiedWays
from heliostat.runtime.errors import AmbiguousError, OtherAnswerError, UnavailableError
from heliostat.runtime.transport import Call, Reply

QUESTION = AskProxy("head", "uid", "10.0.0.1", 8000)


class Line:
    """A transport that answers, is silent (None), or says what went wrong."""

    def __init__(self, *answers: int | str | None) -> None:
        self._answers = [*answers]

    async def send(self, call: Call, _seconds: float) -> Reply:
        answer = self._answers.pop(0)
        if isinstance(answer, str):
            raise UnavailableError(answer)
        if answer is None:
            raise AmbiguousError(f"{call}: no answer")
        return Reply(answer, b"")


class _NoClient:
    fence = None


def ask(*answers: int | str | None) -> list[bool | None]:
    """What is known after each answer; None: nothing."""
    client: Any = _NoClient()
    line: Any = Line(*answers)
    calls = ServeCalls(RayAccess(client, DirectWays(line)))

    async def run() -> list[bool | None]:
        known: list[bool | None] = []
        for _ in answers:
            try:
                known.append(await calls.ask_proxy("ns", QUESTION)())
            except UnavailableError:
                known.append(None)
        return known

    return asyncio.run(run())


def test_one_question_that_gets_lost_takes_no_endpoint_away() -> None:
    assert ask(200, None, 200, None, None, 200) == [True, None, True, None, None, True]


def test_a_proxy_that_stays_silent_takes_no_requests() -> None:
    assert ask(200, *[None] * (MOST_SILENCES + 1)) == [True, *[None] * (MOST_SILENCES - 1), False, False]


@pytest.mark.parametrize("answer", [503, "cannot connect to 10.0.0.1:8000: Connection refused"])
def test_a_no_counts_at_once(answer: int | str) -> None:
    assert ask(200, answer, 200) == [True, False, True]


def test_what_the_api_server_says_of_itself_takes_no_endpoint_away_however_often() -> None:
    """A webhook that refused the way to Pods for a while took the only endpoint of a service away."""
    client: Any = _NoClient()
    refusal = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "denied", "code": 422}

    class Refusing:
        async def send(self, _call: Call, _seconds: float) -> Reply:
            return Reply(422, msgspec.json.encode(refusal))

    line: Any = Refusing()
    calls = ServeCalls(RayAccess(client, ProxiedWays(line)))

    async def run() -> None:
        for _ in range(3 * MOST_SILENCES):
            with pytest.raises(OtherAnswerError):
                await calls.ask_proxy("ns", QUESTION)()

    asyncio.run(run())
