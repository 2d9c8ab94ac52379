"""The warnings of kube-apiserver, word for word and in its order, and none where it gives none."""

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from embedded.kinds.caution_cases import CASES, NAMESPACE, Case, Told, Tree, load_told
from embedded.kinds.exchange import Call, prepare
from embedded.kinds.servers import ADMIN, WHOLE, caller, serve_core
from embedded.kinds.trying import Sent, try_out
from heliostat.embedded.kinds.cautions.addresses import address_cautions, range_cautions
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.messages import Request, Response
from heliostat.kube.jsontree import encode_json

RECORDED = load_told()


def sender(core: ApiCore) -> Any:
    async def send(sent: Sent) -> Told:
        parts = urlsplit(sent.path)
        request = Request(
            method=sent.method,
            path=parts.path,
            user=ADMIN,
            query=parse_qs(parts.query),
            headers={"content-type": sent.content_type, "accept": "application/json"},
            body=encode_json(sent.body),
        )
        answer = await core.handle(request)
        assert isinstance(answer, Response)
        return Told(answer.status, list(answer.warnings))

    return send


@pytest.fixture(scope="module")
def told() -> dict[str, Told]:
    answers: dict[str, Told] = {}

    async def test(core: ApiCore) -> None:
        call: Call = caller(core)
        await prepare(call, NAMESPACE)
        for case in CASES:
            answers[case.name] = await try_out(case, sender(core))
            await asyncio.sleep(0)

    serve_core(test, WHOLE)
    return answers


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_warnings_are_those_of_kube_apiserver(case: Case, told: dict[str, Told]) -> None:
    assert msgspec.to_builtins(told[case.name]) == msgspec.to_builtins(RECORDED[case.name])


def test_most_cases_are_warned_of_and_some_are_not() -> None:
    assert RECORDED.keys() == {case.name for case in CASES}
    warned = [told for told in RECORDED.values() if told.warnings]
    assert len(warned) >= 50
    assert len(RECORDED) - len(warned) >= 10
    assert all(told.status in (200, 201) for told in RECORDED.values())


@pytest.mark.parametrize("text", ["1.2.3.4", "2001:db8::1", "::1", "not an address", ""])
def test_addresses_as_they_should_be_are_not_mentioned(text: str) -> None:
    assert list(address_cautions("at", text)) == []


@pytest.mark.parametrize("text", ["10.0.0.0/8", "2001:db8::/64", "0.0.0.0/0", "not a range", "10.0.0.0"])
def test_ranges_as_they_should_be_are_not_mentioned(text: str) -> None:
    assert list(range_cautions("at", text)) == []


@pytest.mark.parametrize(("options", "is_told"), [({}, True), ({"propagationPolicy": "Background"}, False)])
def test_deleting_all_jobs_says_that_their_pods_stay(options: Tree, is_told: bool) -> None:
    async def test(core: ApiCore) -> None:
        await prepare(caller(core), NAMESPACE)
        told = await sender(core)(Sent("DELETE", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs", options))
        assert (told.status, [text.partition(" when")[0] for text in told.warnings]) == (
            200,
            ["child pods are preserved by default"] if is_told else [],
        )

    serve_core(test, WHOLE)
