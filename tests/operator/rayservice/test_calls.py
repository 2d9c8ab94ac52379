"""What the operator makes of a Serve proxy that does not answer."""

import asyncio
from typing import Any

import msgspec
import pytest

from heliostat.kube.facts import Fact
from heliostat.kube.objects import Key
from heliostat.operator.ray_access import RayAccess
from heliostat.operator.ray_facts import Question, RayFacts
from heliostat.operator.rayservice.calls import MOST_SILENCES, ServeCalls
from heliostat.operator.rayservice.reconciler import SERVE_SECONDS
from heliostat.plan.rayservice.answers import PROXY, AskProxy, proxy_key
from heliostat.ray.ways import DirectWays, ProxiedWays
from heliostat.runtime.errors import AmbiguousError, OtherAnswerError, UnavailableError
from heliostat.runtime.transport import Call, Reply
from heliostat.testing import run_virtual

QUESTION = AskProxy("head", "uid", "10.0.0.1", 8000)
REFUSED = "cannot connect to 10.0.0.1:8000: Connection refused"


class Line:
    """A way to a proxy that answers, is silent (None), or says what went wrong; and to the API server before it."""

    def __init__(self, *answers: int | str | None, is_server_silent: bool = False) -> None:
        self._answers = [*answers]
        self._is_server_silent = is_server_silent

    async def send(self, call: Call, _seconds: float) -> Reply:
        if call.path == "/version":
            return self._tell(call, None if self._is_server_silent else 200)
        return self._tell(call, self._answers.pop(0))

    def _tell(self, call: Call, answer: int | str | None) -> Reply:
        if isinstance(answer, str):
            raise UnavailableError(answer)
        if answer is None:
            raise AmbiguousError(f"{call}: no answer")
        return Reply(answer, b"")


class _NoClient:
    fence = None


def ask(*answers: int | str | None, is_proxied: bool = False, is_server_silent: bool = False) -> list[bool | None]:
    """What is known after each answer; None: nothing."""
    client: Any = _NoClient()
    line: Any = Line(*answers, is_server_silent=is_server_silent)
    calls = ServeCalls(RayAccess(client, ProxiedWays(line) if is_proxied else DirectWays(line)))

    async def run() -> list[bool | None]:
        known: list[bool | None] = []
        for _ in answers:
            try:
                known.append(await calls.ask_proxy("ns", QUESTION)())
            except UnavailableError:
                known.append(None)
        return known

    return asyncio.run(run())


@pytest.mark.parametrize("is_proxied", [False, True])
def test_one_question_that_gets_lost_takes_no_endpoint_away(is_proxied: bool) -> None:
    known = ask(200, None, 200, None, 200, None, 200, is_proxied=is_proxied)
    assert known == [True, None, True, None, True, None, True]


@pytest.mark.parametrize("is_proxied", [False, True])
def test_a_proxy_that_stays_silent_takes_no_requests(is_proxied: bool) -> None:
    known = ask(200, *[None] * (MOST_SILENCES + 1), is_proxied=is_proxied)
    assert known == [True, *[None] * (MOST_SILENCES - 1), False, False]


@pytest.mark.parametrize("answer", [503, REFUSED])
def test_a_no_counts_at_once(answer: int | str) -> None:
    assert ask(200, answer, 200) == [True, False, True]


def test_an_api_server_that_is_silent_itself_takes_no_endpoint_away_however_long() -> None:
    assert ask(200, *[None] * 3 * MOST_SILENCES, is_proxied=True, is_server_silent=True) == [
        True,
        *[None] * 3 * MOST_SILENCES,
    ]


def test_an_api_server_that_restarts_takes_no_endpoint_away() -> None:
    """That nobody listened for it was taken for a word of the proxy behind it."""
    assert ask(200, *[REFUSED] * 3 * MOST_SILENCES, 200, is_proxied=True) == [True, *[None] * 3 * MOST_SILENCES, True]


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


def test_the_silence_of_a_proxy_is_told_within_half_a_minute() -> None:
    """Through the API server it took so long that an upgrade was over before the old head lost its label."""

    class Silent:
        async def send(self, call: Call, seconds: float) -> Reply:
            if call.path == "/version":
                return Reply(200, b"{}")
            await asyncio.sleep(seconds)
            raise AmbiguousError(f"{call}: no answer")

    async def run() -> None:
        client: Any = _NoClient()
        line: Any = Silent()
        calls = ServeCalls(RayAccess(client, ProxiedWays(line)))
        told = asyncio.Event()
        facts = RayFacts(clock=asyncio.get_running_loop().time, chance=lambda: 0.0)
        facts.listen(PROXY, lambda _key: told.set())
        fact = proxy_key("service", QUESTION.uid)
        question = Question(fact, calls.ask_proxy("ns", QUESTION), "10.0.0.1:8000", SERVE_SECONDS)
        facts.watch_all(PROXY, Key("ns", "stand"), (question,))
        asking = asyncio.create_task(facts.cache.run())
        async with asyncio.timeout(30):
            while not isinstance(known := facts.get(fact), Fact):
                told.clear()
                await told.wait()
        assert known.value is False
        asking.cancel()

    run_virtual(run())
