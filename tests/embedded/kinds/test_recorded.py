"""What kube-apiserver 1.34 answered to more than 600 requests about built-in kinds, and what this server answers.

Compared are the status code and the whole body: objects with everything the server fills in, refusals with reason,
message and causes. What differs on purpose is named here, with the reason.
"""

import asyncio
from typing import Any

import pytest

from embedded.kinds.exchange import Step, load, prepare, take
from embedded.kinds.servers import serve

NAMESPACE = "recorded"
INNER = "values of inner types are shown by the names of the API"
AUTOSCALER = "what autoscaling/v1 cannot say travels in annotations in the words of v2"
DIFFERENT = {
    "sec": INNER,
    "job template": INNER,
    "Job pfp": "an empty list and an absent one are the same here, so that null is shown for both",
    "names": "an empty runtime class is refused as a name, not as an internal error",
    "create ResourceQuota q": "a new quota knows at once what is used",
    "old status": AUTOSCALER,
    "old one scaled after its status": AUTOSCALER,
}
ADDRESSLESS = "10.96.0.0"  # what kube-apiserver shows for an address that a dry run does not draw


def answers(steps: list[Step]) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []

    async def test(call: Any) -> None:
        await prepare(call, NAMESPACE)
        for step in steps:
            told.append(await take(step, call, NAMESPACE))
            await asyncio.sleep(0)

    serve(test)
    return told


CREATES, CHANGES, RULES = load("creates"), load("changes"), load("rules")


def without_addresses(verdict: Any) -> Any:
    answer = verdict["answer"]
    spec = answer.get("spec") or {} if isinstance(answer, dict) else {}
    if spec.get("clusterIP") in (ADDRESSLESS, "ADDRESS"):
        spec = {**spec, "clusterIP": "", "clusterIPs": []}
        return {**verdict, "answer": {**answer, "spec": spec}}
    return verdict


@pytest.mark.parametrize("steps", [CREATES, CHANGES, RULES], ids=["creates", "changes", "rules"])
def test_the_answers_are_those_of_kube_apiserver(steps: list[Step]) -> None:
    wrong = [
        (step.name, step.recorded, told)
        for step, told in zip(steps, answers(steps), strict=True)
        if without_addresses(told) != without_addresses(step.recorded) and step.name not in DIFFERENT
    ]
    assert wrong == []


def test_what_is_named_as_different_is_different() -> None:
    same = {
        step.name
        for steps in (CREATES, CHANGES, RULES)
        for step, told in zip(steps, answers(steps), strict=True)
        if step.name in DIFFERENT and told == step.recorded
    }
    assert same == set()


def test_enough_was_recorded() -> None:
    assert len(CREATES) >= 370
    assert len(CHANGES) >= 140
    assert len(RULES) >= 100
    assert {step.name for step in (*CREATES, *CHANGES, *RULES)} >= DIFFERENT.keys()
