"""One schema object may stand at several places, as in a tree that was built from parts: its rules hold at each."""

import pytest

from embedded.cel.objects import INTEGER, STRING, an_object, broken, rule, with_rules
from heliostat.kube.schema import JsonSchema

SMALL = with_rules(INTEGER, rule("self < 5", message="is too large"))
PART = an_object(size=SMALL)
OTHER = an_object(name=STRING)


def a_list(items: JsonSchema) -> JsonSchema:
    return {"type": "array", "items": items, "maxItems": 3}


def a_map(values: JsonSchema) -> JsonSchema:
    return {"type": "object", "additionalProperties": values, "maxProperties": 3}


@pytest.mark.parametrize(
    ("spec", "new", "fields"),
    [
        (an_object(a=SMALL, b=SMALL), {"a": 7, "b": 7}, ["spec.a", "spec.b"]),
        (
            an_object(a=an_object(part=PART), b=an_object(part=PART)),
            {"a": {"part": {"size": 7}}, "b": {"part": {"size": 7}}},
            ["spec.a.part.size", "spec.b.part.size"],
        ),
        (
            an_object(near=PART, far=an_object(further=an_object(part=PART, other=OTHER))),
            {"near": {"size": 7}, "far": {"further": {"part": {"size": 7}}}},
            ["spec.near.size", "spec.far.further.part.size"],
        ),
        (
            an_object(one=PART, several=a_list(PART), named=a_map(a_list(PART))),
            {"one": {"size": 7}, "several": [{"size": 7}], "named": {"x": [{"size": 7}]}},
            ["spec.one.size", "spec.several[0].size", "spec.named[x][0].size"],
        ),
    ],
    ids=["same parent", "two parents", "two depths", "lists and maps"],
)
def test_rules_hold_wherever_their_schema_stands(spec: JsonSchema, new: object, fields: list[str]) -> None:
    told = [f'{field}: Invalid value: "integer": is too large' for field in fields]
    assert sorted(broken(spec, new)) == sorted(told)
