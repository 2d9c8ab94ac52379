"""Warnings beside an answer: bounded in number and size, whatever an object gives cause for, and valid as headers."""

from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.server.inprocess import ADMIN, Client, config_map, serve
from heliostat.embedded.server.messages import Request, Response
from heliostat.embedded.server.warning_texts import CUT_AT, MOST_CHARACTERS, Warnings, build_warning
from heliostat.kube.jsontree import encode_json

PODS = "/api/v1/namespaces/default/pods"


def told(*texts: str) -> list[str]:
    warnings = Warnings()
    warnings.extend(texts)
    return list(warnings)


def test_few_and_short_ones_are_told_in_full_and_each_once() -> None:
    long = "x" * 1000
    assert told("one", long, "one", "", "two") == ["one", long, "two"]


def test_too_many_are_cut_and_the_last_ones_left_out() -> None:
    found = told(*(f"{number:04d}{'x' * 400}" for number in range(1000)))
    assert {len(text) for text in found} == {CUT_AT}
    assert len(found) == MOST_CHARACTERS // CUT_AT
    assert [text[:4] for text in found[:2]] == ["0000", "0001"]


def test_nobody_is_asked_for_more_than_can_be_told() -> None:
    asked = 0

    def endless() -> Any:
        nonlocal asked
        while True:
            asked += 1
            yield f"{asked} and some more words"

    warnings = Warnings()
    warnings.extend(endless())
    assert asked < MOST_CHARACTERS


@given(st.text())
def test_every_text_is_a_valid_header(text: str) -> None:
    value = build_warning(text)
    assert value.isprintable() or "\u00a0" in value
    assert value.startswith('299 - "')
    assert value.endswith('"')


async def create_pod(client: Client, ports: list[dict[str, Any]]) -> tuple[Response, float]:
    containers = [{"name": "a", "image": "a", "ports": ports}]
    tree = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    begun = process_time()
    answer = await client.core.handle(Request(method="POST", path=PODS, user=ADMIN, body=encode_json(tree)))
    assert isinstance(answer, Response)
    return answer, process_time() - begun


EQUAL = [{"containerPort": 80} for _ in range(6000)]
SILENT = [{"containerPort": 80, "hostPort": number} for number in range(1, 6001)]


@pytest.mark.parametrize("ports", [EQUAL, SILENT], ids=["equal", "silent"])
def test_thousands_of_equal_ports_are_little_work_and_few_words(ports: list[dict[str, Any]]) -> None:
    """Each was compared with each: 18 million comparisons, and as many warnings."""

    async def test(client: Client) -> None:
        answer, seconds = await create_pod(client, ports)
        assert answer.status == 201
        assert sum(map(len, answer.warnings)) <= MOST_CHARACTERS + CUT_AT
        assert seconds < 3

    serve(test)


def test_thousands_of_owners_are_little_work() -> None:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": f"u{number}"} for number in range(6000)]

    async def test(client: Client) -> None:
        begun = process_time()
        status, _ = await client.call(
            "POST", "/api/v1/namespaces/default/configmaps", config_map(ownerReferences=[*owners, owners[0]])
        )
        assert status == 201
        assert process_time() - begun < 3

    serve(test)
