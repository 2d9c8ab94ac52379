"""ServiceAccount tokens: forged, foreign, late, early, and bound to what is gone."""

import base64
import hashlib
import hmac
import json
from typing import Any

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives import serialization

from heliostat.embedded.access.private_keys import new_private_key, read_private_key
from heliostat.embedded.access.service_account_tokens import (
    ISSUER,
    LEEWAY,
    BoundTo,
    Existing,
    Reference,
    build_claims,
    read_existing,
)
from heliostat.embedded.access.token_signing import REMEMBERED, TokenSigner, TokenVerifier
from heliostat.embedded.access.tokens import UNKNOWN_TOKEN, TokenRefused, TokenVerdict, Verified
from heliostat.embedded.access.users import User
from heliostat.kube.hidden import Hidden

NOW = 1_800_000_000.0
KEY = new_private_key()
HERE = (ISSUER,)
ROBOT = BoundTo("team", Reference("robot", "sa-1"))
IN_POD = BoundTo("team", Reference("robot", "sa-1"), pod=Reference("p", "pod-1"), node=Reference("n", "node-1"))
WITH_SECRET = BoundTo("team", Reference("robot", "sa-1"), secret=Reference("s", "secret-1"))
ON_NODE = BoundTo("team", Reference("robot", "sa-1"), node=Reference("n", "node-1"))
EXISTING = {
    ("serviceaccounts", "team", "robot"): Existing("sa-1"),
    ("pods", "team", "p"): Existing("pod-1"),
    ("secrets", "team", "s"): Existing("secret-1"),
    ("nodes", "", "n"): Existing("node-1"),
}


class Cluster:
    """What exists, and a verifier that looks there."""

    def __init__(self) -> None:
        self.objects = dict(EXISTING)
        self.verifier = TokenVerifier([KEY], ISSUER, lambda *place: self.objects.get(place))

    def check(self, token: str, audiences: tuple[str, ...] = HERE, now: float = NOW) -> TokenVerdict:
        return self.verifier.check(token, audiences, now)


def issue(bound: BoundTo = ROBOT, audiences: tuple[str, ...] = HERE, key: Hidden = KEY, issuer: str = ISSUER) -> str:
    return TokenSigner(key).sign(build_claims(bound, audiences, 3600, NOW, "id-1", issuer)).reveal()


def payload(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    decoded: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return decoded


def test_the_claims_are_those_of_kube_apiserver() -> None:
    assert payload(issue(IN_POD)) == {
        "aud": [ISSUER],
        "exp": 1_800_003_600,
        "iat": 1_800_000_000,
        "iss": ISSUER,
        "jti": "id-1",
        "kubernetes.io": {
            "namespace": "team",
            "node": {"name": "n", "uid": "node-1"},
            "pod": {"name": "p", "uid": "pod-1"},
            "serviceaccount": {"name": "robot", "uid": "sa-1"},
        },
        "nbf": 1_800_000_000,
        "sub": "system:serviceaccount:team:robot",
    }
    assert payload(issue())["kubernetes.io"].keys() == {"namespace", "serviceaccount"}
    lonely = BoundTo("team", ROBOT.service_account, pod=Reference("p", "pod-1"), node=Reference("gone"))
    assert payload(issue(lonely))["kubernetes.io"]["node"] == {"name": "gone"}


def test_a_good_token_names_its_service_account() -> None:
    extra: dict[str, tuple[str, ...]] = {
        "authentication.kubernetes.io/credential-id": ("JTI=id-1",),
        "authentication.kubernetes.io/node-name": ("n",),
        "authentication.kubernetes.io/node-uid": ("node-1",),
        "authentication.kubernetes.io/pod-name": ("p",),
        "authentication.kubernetes.io/pod-uid": ("pod-1",),
    }
    groups = ("system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated")
    robot = User("system:serviceaccount:team:robot", "sa-1", groups, extra)
    assert Cluster().check(issue(IN_POD)) == Verified(robot, HERE)


@pytest.mark.parametrize(
    ("later", "reason"),
    [
        (0, None),
        (3600, None),
        (3600 + LEEWAY, None),
        (3600 + LEEWAY + 1, "service account token has expired"),
        (-LEEWAY, None),
        (-LEEWAY - 1, "service account token is not valid yet"),
    ],
)
def test_a_token_counts_between_its_times(later: float, reason: str | None) -> None:
    cluster, token = Cluster(), issue()
    for _ in range(2):  # the second time its signature is remembered
        verdict = cluster.check(token, now=NOW + later)
        assert verdict == TokenRefused(reason) if reason else isinstance(verdict, Verified)


def test_a_token_from_the_future_is_refused() -> None:
    claims = msgspec.structs.replace(build_claims(ROBOT, HERE, 3600, NOW, "id"), iat=int(NOW) + 61)
    token = TokenSigner(KEY).sign(claims).reveal()
    assert Cluster().check(token) == TokenRefused("service account token is issued in the future")


@pytest.mark.parametrize(
    ("meant", "asked", "shared"),
    [
        (("a", "b"), ("b", "a"), ("b", "a")),
        (("a", "b"), ("b", "c"), ("b",)),
        (("a",), ("a",), ("a",)),
    ],
)
def test_a_token_counts_for_its_audiences(
    meant: tuple[str, ...], asked: tuple[str, ...], shared: tuple[str, ...]
) -> None:
    verdict = Cluster().check(issue(audiences=meant), asked)
    assert isinstance(verdict, Verified)
    assert verdict.audiences == shared


def test_a_token_for_others_is_refused_in_kube_apiservers_words() -> None:
    said = f'token audiences ["x" "y"] is invalid for the target audiences ["{ISSUER}"]'
    assert Cluster().check(issue(audiences=("x", "y"))) == TokenRefused(said)
    assert isinstance(Cluster().check(issue(), ()), TokenRefused), "no audience is none of ours"


GONE = "service account token has been invalidated"
BOUND_ROWS: list[tuple[BoundTo, tuple[str, str, str], Existing | None, str | None]] = [
    (ROBOT, ("serviceaccounts", "team", "robot"), None, 'serviceaccounts "robot" not found'),
    (
        ROBOT,
        ("serviceaccounts", "team", "robot"),
        Existing("sa-2"),
        "service account UID (sa-2) does not match claim (sa-1)",
    ),
    (
        ROBOT,
        ("serviceaccounts", "team", "robot"),
        Existing("sa-1", NOW - 61),
        "service account team/robot has been deleted",
    ),
    (ROBOT, ("serviceaccounts", "team", "robot"), Existing("sa-1", NOW - 59), None),
    (ROBOT, ("pods", "team", "p"), None, None),
    (IN_POD, ("pods", "team", "p"), None, GONE),
    (
        IN_POD,
        ("pods", "team", "p"),
        Existing("pod-2"),
        "pod UID (pod-2) does not match service account pod ref claim (pod-1)",
    ),
    (IN_POD, ("pods", "team", "p"), Existing("pod-1", NOW - 61), GONE),
    (IN_POD, ("pods", "team", "p"), Existing("pod-1", NOW - 59), None),
    (IN_POD, ("nodes", "", "n"), None, None),  # the node of a Pod is only told, the token is not bound to it
    (WITH_SECRET, ("secrets", "team", "s"), None, GONE),
    (
        WITH_SECRET,
        ("secrets", "team", "s"),
        Existing("secret-2"),
        "secret UID (secret-2) does not match service account secret ref claim (secret-1)",
    ),
    (ON_NODE, ("nodes", "", "n"), None, GONE),
    (
        ON_NODE,
        ("nodes", "", "n"),
        Existing("node-2"),
        "node UID (node-2) does not match service account node ref claim (node-1)",
    ),
]


@pytest.mark.parametrize(("bound", "place", "found", "reason"), BOUND_ROWS)
def test_a_token_ends_with_what_it_is_bound_to(
    bound: BoundTo, place: tuple[str, str, str], found: Existing | None, reason: str | None
) -> None:
    cluster, token = Cluster(), issue(bound)
    assert isinstance(cluster.check(token), Verified)
    cluster.objects.pop(place)
    if found is not None:
        cluster.objects[place] = found
    verdict = cluster.check(token)
    assert verdict == TokenRefused(reason) if reason else isinstance(verdict, Verified)


def encoded(tree: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(tree).encode()).decode().rstrip("=")


def header(token: str) -> dict[str, Any]:
    return dict(jwt.get_unverified_header(token))


def public_pem() -> bytes:
    public = read_private_key(KEY).public_key()
    return public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def build_forgeries() -> dict[str, str]:
    good = issue()
    head, body, signature = good.split(".")
    kid = header(good)["kid"]
    other = new_private_key()
    richer = encoded({**payload(good), "sub": "system:serviceaccount:kube-system:root"})
    return {
        "signed by another key": issue(key=other),
        "signed by another key under our key id": jwt.encode(
            payload(good), read_private_key(other), "ES256", headers={"kid": kid}
        ),
        "with no algorithm": f"{encoded({'alg': 'none', 'kid': kid})}.{body}.",
        "with no algorithm, signature kept": f"{encoded({'alg': 'None', 'kid': kid})}.{body}.{signature}",
        "with our public key as a shared secret": _hmac_token(kid, body),
        "with another curve's algorithm": f"{encoded({'alg': 'ES384', 'kid': kid})}.{body}.{signature}",
        "with another body": f"{head}.{richer}.{signature}",
        "without a signature": f"{head}.{body}.",
        "with a cut signature": good[:-6],
        "with a zero signature": f"{head}.{body}.{base64.urlsafe_b64encode(bytes(64)).decode().rstrip('=')}",
        "without a key id": jwt.encode(payload(good), read_private_key(KEY), "ES256"),
        "with a key id that is a list": f"{encoded({'alg': 'ES256', 'kid': [kid]})}.{body}.{signature}",
        "by another issuer": issue(issuer="https://elsewhere"),
        "with a body that is no object": jwt.api_jws.encode(b"[]", read_private_key(KEY), "ES256", {"kid": kid}),
        "with claims of another shape": jwt.encode({"iss": ISSUER}, read_private_key(KEY), "ES256", {"kid": kid}),
        "nested very deeply": f"{_deep_header(kid)}.{body}.{signature}",
        "with a header that is no JSON": f"e30x.{body}.{signature}",
        "of two parts": f"{head}.{body}",
        "of four parts": f"{good}.{signature}",
        "empty": "",
        "dots": "..",
        "not ASCII": "é.é.é",
        "not UTF-8": "\udcff.\udcff.\udcff",
    }


def _deep_header(kid: str) -> str:
    text = '{"alg":"ES256","kid":"' + kid + '","x":' + "[" * 100_000 + "]" * 100_000 + "}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _hmac_token(kid: str, body: str) -> str:
    signed = f"{encoded({'alg': 'HS256', 'kid': kid})}.{body}"
    digest = hmac.new(public_pem(), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


FORGERIES = build_forgeries()


@pytest.mark.parametrize("how", FORGERIES)
def test_a_forged_token_is_refused_before_and_after_the_real_one(how: str) -> None:
    cluster, forged = Cluster(), FORGERIES[how]
    assert cluster.check(forged) == UNKNOWN_TOKEN
    assert isinstance(cluster.check(issue()), Verified)
    assert cluster.check(forged) == UNKNOWN_TOKEN


def test_tokens_of_an_earlier_key_count_as_long_as_it_is_listed() -> None:
    fresh = new_private_key()
    old_token, new = issue(), issue(key=fresh)
    both = TokenVerifier([fresh, KEY], ISSUER, lambda *place: EXISTING.get(place))
    only_new = TokenVerifier([fresh], ISSUER, lambda *place: EXISTING.get(place))
    assert isinstance(both.check(old_token, HERE, NOW), Verified)
    assert isinstance(both.check(new, HERE, NOW), Verified)
    assert only_new.check(old_token, HERE, NOW) == UNKNOWN_TOKEN


def test_what_is_remembered_is_bounded() -> None:
    cluster, token = Cluster(), issue()
    claims = cluster.verifier._read_signed(token)
    assert not isinstance(claims, TokenRefused)
    cluster.verifier._verified |= {number.to_bytes(32): claims for number in range(REMEMBERED)}
    assert isinstance(cluster.check(token), Verified)
    assert len(cluster.verifier._verified) == 1


def test_existence_is_read_from_an_object() -> None:
    metadata = {"uid": "u", "deletionTimestamp": "2027-01-15T08:00:00Z"}
    assert read_existing({"metadata": metadata}) == Existing("u", 1_800_000_000.0)
    assert read_existing({"metadata": {"uid": "u"}}) == Existing("u")
