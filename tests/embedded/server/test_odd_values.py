"""Values that no client should send: refused in kube-apiserver's words, and never a bug of the server."""

import itertools
import json
from typing import Any

import pytest

from embedded.server.inprocess import MAPS, Client, config_map, serve
from heliostat.embedded.access.rbac import Policy
from heliostat.embedded.access.tokens import StaticTokens
from heliostat.embedded.server.describing.review_answers import ReviewAnswers
from heliostat.kube.counts import read_count

GIANT = "9" * 100_000
VALUES = ("1", "null", "[]", "{}", '"x"', "true", "1.5", "1" * 30, GIANT, "1e999999", "[1]", '{"a":1}')
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FOOS = "/apis/example.org/v1/namespaces/default/foos"
FOO = '"kind":"Foo","apiVersion":"example.org/v1","metadata":{"name":"%s"}'
ACCESS, IDENTITY = "authorization.k8s.io", "authentication.k8s.io"
REVIEWS = [
    (f"/apis/{ACCESS}/v1/subjectaccessreviews", "SubjectAccessReview", f"{ACCESS}/v1"),
    (f"/apis/{ACCESS}/v1/selfsubjectaccessreviews", "SelfSubjectAccessReview", f"{ACCESS}/v1"),
    (f"/apis/{ACCESS}/v1/selfsubjectrulesreviews", "SelfSubjectRulesReview", f"{ACCESS}/v1"),
    (f"/apis/{ACCESS}/v1/namespaces/default/localsubjectaccessreviews", "LocalSubjectAccessReview", f"{ACCESS}/v1"),
    (f"/apis/{IDENTITY}/v1/tokenreviews", "TokenReview", f"{IDENTITY}/v1"),
]


def definition(schema: dict[str, Any]) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"}
    spec = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": [version]}
    head = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1"}
    return {**head, "metadata": {"name": "foos.example.org"}, "spec": spec}


async def refused_or_taken(client: Client, method: str, path: str, body: str, kind: str = "application/json") -> None:
    is_sound(await client.call(method, path, body.encode(), kind), f"{method} {path} {body[:200]}")


def is_sound(answered: tuple[int, Any], what: str = "") -> None:
    """Some refusals of kube-apiserver have a 500, and none of ours says that it is a bug."""
    status, answer = answered
    assert not (status >= 500 and "met a bug" in str(answer)), what


def test_numbers_of_any_length_in_objects_and_patches() -> None:
    async def test(client: Client) -> None:
        await client.ok(
            "POST", DEFINITIONS, definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
        )
        await client.ok("POST", MAPS, config_map("p"))
        for index, value in enumerate(VALUES):
            await refused_or_taken(client, "POST", FOOS, '{%s,"x":%s}' % (FOO % f"a{index}", value))  # noqa: UP031
            await refused_or_taken(client, "PATCH", f"{MAPS}/p", f'{{"x":{value}}}', "application/merge-patch+json")
            await refused_or_taken(client, "POST", MAPS, value)
            await refused_or_taken(client, "DELETE", f"{MAPS}/none", value)

    serve(test)


@pytest.mark.parametrize("field", ["kind", "apiVersion"])
def test_a_patch_that_makes_anything_of_what_an_object_is(field: str) -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", MAPS, config_map("p"))
        for value in VALUES:
            replace = f'[{{"op":"replace","path":"/{field}","value":{value}}}]'
            merge = f'{{"{field}":{value}}}'
            await refused_or_taken(client, "PATCH", f"{MAPS}/p", replace, "application/json-patch+json")
            await refused_or_taken(client, "PATCH", f"{MAPS}/p", merge, "application/merge-patch+json")
            await refused_or_taken(client, "PATCH", f"{MAPS}/p", merge, "application/strategic-merge-patch+json")

    serve(test)


@pytest.mark.parametrize("step", [0, 0.0, 1e-320])
def test_a_step_of_nothing_has_no_multiples(step: float) -> None:
    async def test(client: Client) -> None:
        number = {"type": "number", "multipleOf": step}
        await client.ok("POST", DEFINITIONS, definition({"type": "object", "properties": {"n": number}}))
        for index, value in enumerate((0, 5, 1.5, 1e300)):
            await refused_or_taken(client, "POST", FOOS, '{%s,"n":%s}' % (FOO % f"a{index}", value))  # noqa: UP031

    serve(test)


@pytest.mark.parametrize(("path", "kind", "api_version"), REVIEWS)
def test_reviews_are_read_like_every_other_kind(path: str, kind: str, api_version: str) -> None:
    outer = (
        "resourceAttributes",
        "nonResourceAttributes",
        "user",
        "groups",
        "extra",
        "namespace",
        "token",
        "audiences",
    )
    inner = ("verb", "resource", "namespace", "path", "fieldSelector", "labelSelector")

    async def test(client: Client) -> None:
        tokens = StaticTokens((), ("x",))
        client.core._handler._reviews = ReviewAnswers(Policy(), tokens.check, ("x",), lambda: 1.0)
        head = f'"kind":"{kind}","apiVersion":"{api_version}"'
        for value in VALUES:
            await refused_or_taken(client, "POST", path, f'{{{head},"spec":{value}}}')
            for field in outer:
                await refused_or_taken(client, "POST", path, f'{{{head},"spec":{{"{field}":{value}}}}}')
            for field, below in itertools.product(outer[:2], inner):
                spec = f'{{"{field}":{{"{below}":{value}}},"user":"u"}}'
                await refused_or_taken(client, "POST", path, f'{{{head},"spec":{spec}}}')

    serve(test)


CORE = "/api/v1/namespaces/default"
POD = {"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"name": "c", "image": "i"}]}}
JOB = {"kind": "Job", "apiVersion": "batch/v1", "metadata": {"name": "j"}}
CRON = {"kind": "CronJob", "apiVersion": "batch/v1", "metadata": {"name": "c"}}
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
DIGITS = (GIANT, "9" * 30, f"-{GIANT}", f"+{GIANT}", "0" * 10_000, "٣" * 5_000, "٣")


@pytest.mark.parametrize("digits", DIGITS, ids=range(len(DIGITS)))
def test_texts_that_are_read_as_numbers(digits: str) -> None:
    async def test(client: Client) -> None:
        async def send(method: str, path: str, tree: Any, kind: str = "application/json") -> None:
            await refused_or_taken(client, method, path, json.dumps(tree), kind)

        await client.ok("POST", MAPS, config_map("p"))
        costly = {"name": "p", "annotations": {"controller.kubernetes.io/pod-deletion-cost": digits}}
        await send("POST", f"{CORE}/pods", {**POD, "metadata": costly})
        policy = {"rules": [{"succeededIndexes": f"0-{digits}"}, {"succeededIndexes": digits}]}
        indexed = {"completionMode": "Indexed", "completions": 2, "parallelism": 1, "template": TEMPLATE}
        await send(
            "POST", "/apis/batch/v1/namespaces/default/jobs", {**JOB, "spec": {**indexed, "successPolicy": policy}}
        )
        for schedule in (f"{digits} * * * *", f"1-{digits} * * * *", f"*/{digits} * * * *", f"@every {digits}h"):
            spec = {"schedule": schedule, "jobTemplate": {"spec": {"template": TEMPLATE}}}
            await send("POST", "/apis/batch/v1/namespaces/default/cronjobs", {**CRON, "spec": spec})
        add = [{"op": "add", "path": f"/metadata/finalizers/{digits}", "value": "a/b"}]
        await client.patch(f"{MAPS}/p", {"metadata": {"finalizers": ["a/b"]}})
        await send("PATCH", f"{MAPS}/p", add, "application/json-patch+json")
        await send("PUT", f"{MAPS}/p", {**config_map("p"), "metadata": {"name": "p", "resourceVersion": digits}})
        fields: dict[str, Any] = {"f:metadata": {"f:finalizers": {f"i:{digits}": {}}}}
        entry = {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
        await send("POST", MAPS, {**config_map("q"), "metadata": {"name": "q", "managedFields": [entry]}})
        is_sound(await client.patch(f"{MAPS}/q", config_map("q"), "apply-patch+yaml", fieldManager="m"))
        for query in ("resourceVersion", "limit", "timeoutSeconds", "continue"):
            is_sound(await client.call("GET", MAPS, **{query: digits}))
        is_sound(await client.call("GET", f"{CORE}/pods/p/log", tailLines=digits))
        is_sound(await client.call("DELETE", f"{CORE}/pods/p", gracePeriodSeconds=digits))
        for path in (f"pods/p:{digits}/proxy/", f"services/s:{digits}/proxy/"):
            await send("GET", f"{CORE}/{path}", {})

    serve(test)


COUNTS = [("0", 0), ("007", 7), (str(2**63 - 1), 2**63 - 1), (str(2**63), None), (GIANT, None), ("", None)]
COUNTS += [("-1", None), ("+1", None), ("1.0", None), ("٣", None), ("1_0", None), ("0" * 100_000 + "5", 5)]


@pytest.mark.parametrize(("text", "count"), COUNTS, ids=range(len(COUNTS)))
def test_a_count_is_digits_that_fit_64_bits(text: str, count: int | None) -> None:
    assert read_count(text) == count
