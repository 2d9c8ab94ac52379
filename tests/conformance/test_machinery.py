"""The yardstick itself: masking, comparing, generating and shrinking do what they say."""

import asyncio
from pathlib import Path

import pytest

from conformance.differ import compare, differing
from conformance.generator import generate, generate_many
from conformance.known_differences import KNOWN, MODIFIED, unexplained
from conformance.masking import mask
from conformance.model import Call, ReadWatch, Sequence, sequence
from conformance.objects import configmap
from conformance.recording import Recording, Reply, WatchRead
from conformance.requests import apply, create, get, update
from conformance.shrinking import shrink
from conformance.variables import Variables

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "differences-kubernetes.md"
ONE = sequence("one", create("configmaps", configmap("a")), get("configmaps", "a"))


def _object(uid: str, version: str, **metadata: object) -> dict[str, object]:
    return {"kind": "ConfigMap", "metadata": {"name": "a", "uid": uid, "resourceVersion": version, **metadata}}


def test_two_servers_with_other_uids_and_revisions_have_the_same_masked_answers() -> None:
    first = mask(ONE, [Reply(201, body=_object("u-1", "100")), Reply(200, body=_object("u-1", "205"))])
    second = mask(ONE, [Reply(201, body=_object("x-9", "7")), Reply(200, body=_object("x-9", "8"))])
    assert first == second
    assert first[0]["body"]["metadata"] == {"name": "a", "uid": "<uid a#1>", "resourceVersion": "<version 1>"}


def test_a_write_that_only_one_server_made_is_a_difference() -> None:
    wrote = mask(ONE, [Reply(201, body=_object("u-1", "1")), Reply(200, body=_object("u-1", "2"))])
    did_not = mask(ONE, [Reply(201, body=_object("u-1", "1")), Reply(200, body=_object("u-1", "1"))])
    found = compare(ONE, Recording("", wrote), Recording("", did_not))
    assert [one.where for one in found] == ["body.metadata.resourceVersion"]


def _masked(*versions: tuple[str, str]) -> Recording:
    """An object a, shown after each of the requests of ONE in this version and with this note."""
    replies = [Reply(200, body={**_object("u-1", version), "data": {"note": note}}) for version, note in versions]
    return Recording("", mask(ONE, [*replies]))


def test_a_version_of_the_real_server_that_only_moves_owners_is_no_difference() -> None:
    assert unexplained(ONE, _masked(("1", "x"), ("2", "x")), _masked(("1", "x"), ("1", "x"))) == []
    assert unexplained(ONE, _masked(("1", "x"), ("2", "y")), _masked(("1", "x"), ("2", "y"))) == []


@pytest.mark.parametrize(
    ("real", "own"),
    [
        ((("1", "x"), ("1", "x")), (("1", "x"), ("2", "x"))),  # ours made one too many
        ((("1", "x"), ("2", "y")), (("1", "x"), ("1", "x"))),  # ours made none of a change
        ((("1", "x"), ("2", "y")), (("1", "x"), ("1", "y"))),  # ours changed a version
    ],
)
def test_any_other_version_that_one_server_alone_makes_is_a_difference(
    real: tuple[tuple[str, str], ...], own: tuple[tuple[str, str], ...]
) -> None:
    assert unexplained(ONE, _masked(*real), _masked(*own))


def test_a_watch_tells_of_a_version_that_only_moves_owners_once() -> None:
    def read(*versions: str) -> Recording:
        events = [{"type": "MODIFIED", "object": _object("u-1", version)} for version in versions]
        return Recording("", mask(watched, [WatchRead(tuple(events), ended=False)]))

    watched = Sequence(name="s", steps=(ReadWatch(watch="w"),))
    assert unexplained(watched, read("1", "2"), read("1")) == []
    assert unexplained(watched, read("1"), read("1", "2"))


def test_a_write_that_names_the_version_before_may_be_refused_by_the_real_server_alone() -> None:
    put = sequence("one", get("configmaps", "a"), get("configmaps", "a"), update("configmaps", "a", configmap("a")))
    refused = Reply(409, body={"kind": "Status", "message": f"Operation cannot be fulfilled: {MODIFIED}"})

    def answers(version: str, last: Reply) -> Recording:
        replies = [Reply(200, body=_object("u-1", "1")), Reply(200, body=_object("u-1", version)), last]
        return Recording("", mask(put, [*replies]))

    written = Reply(200, body={**_object("u-1", "3"), "data": {}})
    assert unexplained(put, answers("2", refused), answers("1", written)) == []
    assert unexplained(put, answers("1", refused), answers("1", written))


def test_who_owns_what_admission_has_set_is_no_difference_but_other_conflicts_are() -> None:
    step = sequence("s", apply("services", "a", {}))

    def conflicts(*fields: str) -> Recording:
        causes = [{"message": 'conflict with "before-first-apply" using v1', "field": field} for field in fields]
        body = {"kind": "Status", "message": f"Apply failed: {fields}", "details": {"causes": causes}}
        return Recording("", mask(step, [Reply(409, body=body)]))

    assert unexplained(step, conflicts(".spec.type"), conflicts(".spec.clusterIP", ".spec.type")) == []
    assert unexplained(step, conflicts(".spec.type"), conflicts(".spec.type", ".spec.selector"))
    assert unexplained(step, conflicts(".spec.type"), conflicts(".spec.clusterIP"))


def test_one_owner_that_is_two_to_us_is_no_difference_if_the_fields_are_the_same() -> None:
    step = sequence("s", apply("services", "a", {}))

    def conflicts(message: str, *fields: str) -> Recording:
        causes = [{"message": 'conflict with "before-first-apply" using v1', "field": field} for field in fields]
        return Recording("", mask(step, [Reply(409, body={"message": message, "details": {"causes": causes}})]))

    assert unexplained(step, conflicts("of one", ".spec.type"), conflicts("of two", ".spec.type")) == []
    assert unexplained(step, conflicts("of one", ".spec.type"), conflicts("of two", ".spec.selector"))
    assert unexplained(step, conflicts("of one"), conflicts("of two"))


@pytest.mark.parametrize(("status", "is_known"), [(404, True), (200, False)])
def test_a_warning_about_what_is_not_there_is_no_difference(status: int, is_known: bool) -> None:
    step = sequence("s", apply("services", "a", {}))
    answers = [
        Recording("", mask(step, [Reply(status, warnings=warnings, body={})])) for warnings in (("unknown field",), ())
    ]
    assert (unexplained(step, *answers) == []) is is_known


def test_a_port_that_the_server_chose_is_masked_in_a_text_too() -> None:
    step = sequence("s", create("services", {"spec": {"ports": [{"nodePort": 30123}]}}))

    def told(port: int) -> str:
        body = {"kind": "Status", "message": f"spec.ports[1].nodePort: Duplicate value: {port}"}
        return str(mask(step, [Reply(422, body=body)])[0]["body"]["message"])

    assert told(32001) == told(32002)
    assert told(30123) != told(30124)


def test_what_a_request_spells_out_is_not_masked() -> None:
    time = "2024-01-01T00:00:00Z"
    spelled = sequence("s", create("configmaps", configmap("a", {"when": time})))
    body = {**_object("u", "1", creationTimestamp="2030-01-01T00:00:00Z"), "data": {"when": time}}
    masked = mask(spelled, [Reply(201, body=body)])[0]["body"]
    assert masked["data"]["when"] == time
    assert masked["metadata"]["creationTimestamp"] == "<time>"


def test_generated_names_are_numbered_in_the_order_in_which_they_appear() -> None:
    made = sequence("s", create("configmaps", configmap("", generateName="gen-")), get("configmaps", "x"))
    refusal = {"kind": "Status", "message": 'configmaps "gen-bcdfg" not found'}
    masked = mask(made, [Reply(201, body={"metadata": {"name": "gen-bcdfg", "uid": "u-1"}}), Reply(404, body=refusal)])
    assert masked[0]["body"]["metadata"]["name"] == "gen-<1>"
    assert masked[1]["body"]["message"] == 'configmaps "gen-<1>" not found'


def test_the_order_of_problems_does_not_matter_but_the_problems_do() -> None:
    def status(*fields: str) -> Reply:
        causes = [{"field": field, "message": "bad"} for field in fields]
        told = ", ".join(f"{field}: bad" for field in fields)
        return Reply(422, body={"kind": "Status", "message": f"is invalid: [{told}]", "details": {"causes": causes}})

    step = sequence("s", get("configmaps", "a"))
    assert mask(step, [status("x", "y")]) == mask(step, [status("y", "x")])
    assert mask(step, [status("x", "y")]) != mask(step, [status("x", "z")])


def test_the_order_of_what_is_wrong_with_an_applied_object_does_not_matter() -> None:
    def told(*lines: str) -> Reply:
        return Reply(500, body={"kind": "Status", "message": "\n  ".join(("failed (a): errors:", *lines))})

    step = sequence("s", get("configmaps", "a"))
    assert mask(step, [told(".x: bad", ".y: bad")]) == mask(step, [told(".y: bad", ".x: bad")])
    assert mask(step, [told(".x: bad", ".y: bad")]) != mask(step, [told(".x: bad", ".z: bad")])


def test_bookmarks_count_only_where_they_say_something() -> None:
    progress = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5"}}}
    end = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5", "annotations": {"k8s.io/x": "true"}}}}
    watched = Sequence(name="s", steps=(ReadWatch(watch="w"),))
    events = mask(watched, [WatchRead((progress, end, progress), ended=False)])[0]["events"]
    assert [event["object"]["metadata"]["resourceVersion"] for event in events] == ["<revision>"]


def test_another_verdict_is_one_difference() -> None:
    created = Recording("", [{"status": 201, "body": {"a": 1, "b": 2}}, {"status": 200}])
    refused = Recording("", [{"status": 422, "body": {"kind": "Status", "message": "no"}}, {"status": 200}])
    assert [(one.expected, one.actual) for one in compare(ONE, created, refused)] == [("201", "422 no")]


def test_numbers_and_booleans_are_told_apart() -> None:
    assert list(differing({"a": 1, "b": 1}, {"a": True, "b": 1.0}, "")) == [("a", 1, True), ("b", 1, 1.0)]


def test_variables_learn_objects_and_leave_out_what_nobody_taught() -> None:
    variables = Variables(ns="here")
    variables.learn(_object("u", "5"), {})
    variables.learn(_object("u", "6"), {"kind": "kind"})
    filled = variables.fill(
        {"first": "${a.rv.first}", "now": "${a.rv} in ${ns}", "unknown": "${b.rv}", "kind": "${kind}"}
    )
    assert filled == {"first": "5", "now": "6 in here", "kind": "ConfigMap"}


def test_a_seed_always_gives_the_same_sequences_within_their_limits() -> None:
    assert generate_many(7, 20) == generate_many(7, 20)
    assert generate(7, 1) != generate(8, 1)
    assert all(len(one.steps) <= 30 for one in generate_many(7, 100))


def test_shrinking_keeps_only_the_steps_that_matter() -> None:
    async def still(candidate: Sequence) -> bool:
        methods = [step.method for step in candidate.steps if isinstance(step, Call)]
        return "DELETE" in methods and "PUT" in methods

    steps = [Call(method=method, path="/") for method in ("GET", "PUT", "GET", "POST", "DELETE", "GET", "GET")]
    small = asyncio.run(shrink(sequence("long", steps), still))
    assert [step.method for step in small.steps if isinstance(step, Call)] == ["PUT", "DELETE"]


def test_every_known_difference_is_explained() -> None:
    documented = DOCUMENT.read_text()
    assert [known.id for known in KNOWN if f"| {known.id} |" not in documented] == []
