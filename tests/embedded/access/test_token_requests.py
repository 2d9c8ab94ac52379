"""TokenRequest. The answers and refusals are those kube-apiserver 1.34 gave to the same requests."""

import base64
import json
from typing import Any

import pytest

from heliostat.embedded.access.private_keys import new_private_key
from heliostat.embedded.access.service_account_tokens import ISSUER
from heliostat.embedded.access.token_requests import Issuer, answer_token_request
from heliostat.embedded.access.token_signing import TokenSigner
from heliostat.embedded.refusals import Cause, RefusedError
from heliostat.kube.jsontree import JsonObject, copy_tree

NOW = 1_800_000_000.25
ISSUING = Issuer(TokenSigner(new_private_key()).sign, lambda: "token-id")


def named(name: str, uid: str, **more: Any) -> JsonObject:
    return {"metadata": {"name": name, "namespace": "t", "uid": uid}, **more}


OBJECTS = {
    ("serviceaccounts", "t", "robot"): named("robot", "sa-1"),
    ("pods", "t", "p"): named("p", "pod-1", spec={"serviceAccountName": "robot", "nodeName": "n1"}),
    ("pods", "t", "lost"): named("lost", "pod-2", spec={"serviceAccountName": "robot", "nodeName": "gone"}),
    ("pods", "t", "waiting"): named("waiting", "pod-3", spec={"serviceAccountName": "robot"}),
    ("pods", "t", "other"): named("other", "pod-4", spec={"serviceAccountName": "robot2"}),
    ("secrets", "t", "s"): named("s", "secret-1"),
    ("nodes", "", "n1"): {"metadata": {"name": "n1", "uid": "node-1"}},
}


def find(*place: str) -> JsonObject | None:
    return OBJECTS.get((place[0], place[1], place[2]))


def request(spec: JsonObject | None = None, **metadata: Any) -> JsonObject:
    tree: JsonObject = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    return {**tree, "spec": spec or {}, "metadata": metadata}


def answer(tree: JsonObject, name: str = "robot") -> JsonObject:
    return answer_token_request(tree, "t", name, find, ISSUING, NOW)


def claims(tree: JsonObject) -> JsonObject:
    part = tree["status"]["token"].split(".")[1]
    decoded: JsonObject = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return decoded


def test_blanks_are_filled_in() -> None:
    found = answer({"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"})
    assert len(found["status"].pop("token").split(".")) == 3
    assert found == {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": "robot", "namespace": "t", "uid": "sa-1", "creationTimestamp": "2027-01-15T08:00:00Z"},
        "spec": {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None},
        "status": {"expirationTimestamp": "2027-01-15T09:00:00Z"},
    }


def test_the_token_says_what_was_asked_for() -> None:
    found = claims(answer(request({"audiences": ["x", "y"], "expirationSeconds": 600})))
    assert (found["aud"], found["exp"] - found["iat"], found["jti"]) == (["x", "y"], 600, "token-id")
    assert found["sub"] == "system:serviceaccount:t:robot"
    assert found["kubernetes.io"] == {"namespace": "t", "serviceaccount": {"name": "robot", "uid": "sa-1"}}


def test_what_the_request_says_of_itself_stays() -> None:
    tree = request({}, name="robot", namespace="t", uid="sa-1", labels={"a": "b"})
    before = copy_tree(tree)
    assert answer(tree)["metadata"]["labels"] == {"a": "b"}
    assert tree == before, "the request itself is not changed"


@pytest.mark.parametrize(
    ("reference", "bound"),
    [
        (
            {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "pod-1"},
            {"pod": {"name": "p", "uid": "pod-1"}, "node": {"name": "n1", "uid": "node-1"}},
        ),
        ({"kind": "Pod", "name": "lost"}, {"pod": {"name": "lost", "uid": "pod-2"}, "node": {"name": "gone"}}),
        ({"kind": "Pod", "name": "waiting"}, {"pod": {"name": "waiting", "uid": "pod-3"}}),
        ({"kind": "Secret", "apiVersion": "v1", "name": "s"}, {"secret": {"name": "s", "uid": "secret-1"}}),
        ({"kind": "Node", "apiVersion": "v1", "name": "n1"}, {"node": {"name": "n1", "uid": "node-1"}}),
    ],
)
def test_a_token_is_bound_to_the_object_asked_for(reference: JsonObject, bound: JsonObject) -> None:
    found = answer(request({"boundObjectRef": reference}))
    assert found["spec"]["boundObjectRef"] == reference
    account = {"namespace": "t", "serviceaccount": {"name": "robot", "uid": "sa-1"}}
    assert claims(found)["kubernetes.io"] == {**account, **bound}


def test_a_pods_token_lives_as_long_as_asked_and_no_longer() -> None:
    found = claims(answer(request({"expirationSeconds": 3607, "boundObjectRef": {"kind": "Pod", "name": "p"}})))
    assert found["exp"] - found["iat"] == 3607
    assert "warnafter" not in found["kubernetes.io"]


INVALID = "TokenRequest.authentication.k8s.io"
SECONDS = f'{INVALID} "" is invalid: spec.expirationSeconds: Invalid value'
NAME = f'{INVALID} "robot" is invalid: metadata.name: Invalid value'
NOT_THIS_ACCOUNT = (
    f'Operation cannot be fulfilled on {INVALID} "robot": '
    "the UID in the token request (abc) does not match the UID of the service account (sa-1)"
)
NOT_THIS_POD = (
    'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (zzz) does not match the UID '
    "in record. The object might have been deleted and then recreated"
)
REFUSALS: list[tuple[JsonObject, str, int, str, str, JsonObject | None]] = [
    (
        request({"expirationSeconds": 60}),
        "robot",
        422,
        "Invalid",
        f"{SECONDS}: 60: may not specify a duration less than 10 minutes",
        {"group": "authentication.k8s.io", "kind": "TokenRequest"},
    ),
    (
        request({"expirationSeconds": 0}),
        "robot",
        422,
        "Invalid",
        f"{SECONDS}: 0: may not specify a duration less than 10 minutes",
        {"group": "authentication.k8s.io", "kind": "TokenRequest"},
    ),
    (
        request({"expirationSeconds": 2**33}),
        "robot",
        422,
        "Invalid",
        f"{SECONDS}: 8589934592: may not specify a duration larger than 2^32 seconds",
        {"group": "authentication.k8s.io", "kind": "TokenRequest"},
    ),
    (
        request({}, name="other"),
        "robot",
        422,
        "Invalid",
        f'{NAME}: "other": must match the service account name if specified',
        {"name": "robot", "group": "authentication.k8s.io", "kind": "TokenRequest"},
    ),
    (
        request({}, uid="abc"),
        "robot",
        409,
        "Conflict",
        NOT_THIS_ACCOUNT,
        {"name": "robot", "group": "authentication.k8s.io", "kind": "TokenRequest"},
    ),
    (
        request(),
        "nobody",
        404,
        "NotFound",
        'serviceaccounts "nobody" not found',
        {"name": "nobody", "kind": "serviceaccounts"},
    ),
    (
        request({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "none"}}),
        "robot",
        404,
        "NotFound",
        'pods "none" not found',
        {"name": "none", "kind": "pods"},
    ),
    (
        request({"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": "none"}}),
        "robot",
        404,
        "NotFound",
        'nodes "none" not found',
        {"name": "none", "kind": "nodes"},
    ),
    (
        request({"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "p"}}),
        "robot",
        400,
        "BadRequest",
        "cannot bind token to object of type /v1, Kind=ConfigMap",
        None,
    ),
    (
        request({"boundObjectRef": {"kind": "Deployment", "apiVersion": "apps/v1", "name": "p"}}),
        "robot",
        400,
        "BadRequest",
        "cannot bind token to object of type apps/v1, Kind=Deployment",
        None,
    ),
    (
        request({"boundObjectRef": {}}),
        "robot",
        400,
        "BadRequest",
        "cannot bind token to object of type /, Kind=",
        None,
    ),
    (
        request({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "other"}}),
        "robot",
        400,
        "BadRequest",
        'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.',
        None,
    ),
    (
        request({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "zzz"}}),
        "robot",
        409,
        "Conflict",
        NOT_THIS_POD,
        {"name": "p", "kind": "Pod"},
    ),
]


@pytest.mark.parametrize(("tree", "name", "code", "reason", "message", "details"), REFUSALS)
def test_refusals_are_those_of_kube_apiserver(
    tree: JsonObject, name: str, code: int, reason: str, message: str, details: JsonObject | None
) -> None:
    with pytest.raises(RefusedError) as caught:
        answer(tree, name)
    refusal = caught.value
    assert (refusal.code, refusal.reason, refusal.message, refusal.details) == (code, reason, message, details)


def test_an_invalid_field_is_also_a_cause() -> None:
    with pytest.raises(RefusedError) as caught:
        answer(request({"expirationSeconds": 60}))
    problem = "Invalid value: 60: may not specify a duration less than 10 minutes"
    assert caught.value.causes == (Cause("FieldValueInvalid", problem, "spec.expirationSeconds"),)
