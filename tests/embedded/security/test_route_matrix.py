"""Every route × every method × every kind of wrong credentials: nobody gets in, and a new route is covered by itself.

CVE-2026-27482: a dashboard guarded POST and PUT and forgot DELETE. So nothing here is listed by hand: the routes come
from the server, and the only list is that of what may be answered.
"""

import base64
import hmac
import json
import ssl
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from msgspec import structs

from embedded.security.guarded import Guarded, guarding
from embedded.security.routes import definition, every_path, every_request
from embedded.security.wire import Asked, Told
from heliostat.embedded.access.certificates import (
    Credential,
    build_authority,
    build_client_certificate,
    build_server_certificate,
)
from heliostat.embedded.access.private_keys import new_private_key, read_private_key
from heliostat.embedded.access.service_account_tokens import BoundTo, Reference, build_claims
from heliostat.embedded.access.token_signing import TokenSigner
from heliostat.embedded.access.users import MASTERS
from heliostat.embedded.serving import AUDIENCE

PUBLIC = {"/healthz", "/livez", "/readyz", "/version", "/version/"}
REVIEWS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")
LEAST = 30_000  # probes; what is served now makes more
SOME = 7  # of the finer ways to be wrong only every seventh path is asked

Headers = tuple[tuple[str, str], ...]


def bearer(token: str) -> Headers:
    return (("Authorization", f"Bearer {token}"),)


def encode(part: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def decode(part: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=="))
    return found


def forge(token: str, header: dict[str, str], key: bytes | None = None) -> str:
    """The claims of a good token under another header, unsigned or signed with a shared secret."""
    text = f"{encode(header)}.{token.split('.')[1]}"
    signature = hmac.digest(key, text.encode(), "sha256") if key is not None else b""
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def public_pem(guarded: Guarded) -> bytes:
    key = read_private_key(guarded.identity.signing_key).public_key()
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


async def build_credentials(guarded: Guarded) -> tuple[dict[str, Headers], dict[str, Headers]]:
    """What does not count, by what is wrong with it: for every path, and for some."""
    account = (await guarded.do("GET", "/api/v1/namespaces/default/serviceaccounts/robot")).tree["metadata"]
    bound = BoundTo("default", Reference("robot", account["uid"]))
    now = time.time()
    claims = build_claims(bound, (AUDIENCE,), 3600, now, "id")
    signer = TokenSigner(guarded.identity.signing_key)

    def signed(**changes: Any) -> Headers:
        return bearer(signer.sign(structs.replace(claims, **changes)).reveal())

    good = signer.sign(claims).reveal()
    head, body, signature = good.split(".")
    key_id = decode(head)["kid"]
    other = TokenSigner(new_private_key()).sign(claims).reveal()
    assert (await guarded.ask_all(guarded.tls(), [Asked("GET", "/api", bearer(good))]))[0].status == 200
    everywhere = {
        "nothing": (),
        "wrong token": bearer("wrong"),
        "basic": (("Authorization", "Basic YWRtaW46YWRtaW4="),),
        "expired": signed(exp=int(now - 3600), iat=int(now - 7200), nbf=int(now - 7200)),
        "other audience": signed(aud=("vault",)),
        "other key": bearer(other),
        "alg none": bearer(forge(good, {"alg": "none", "typ": "JWT", "kid": key_id})),
        "alg confusion": bearer(forge(good, {"alg": "HS256", "typ": "JWT", "kid": key_id}, public_pem(guarded))),
        "in a cookie": (("Cookie", f"token={good}; Authorization=Bearer {good}"),),
    }
    somewhere = {
        "no token": (("Authorization", "Bearer"),),
        "empty": (("Authorization", ""),),
        "two words": bearer("a b"),
        "other scheme": (("Authorization", f"Token {good}"),),
        "twice": (*bearer(good), *bearer(good)),
        "not yet": signed(nbf=int(now + 7200)),
        "other issuer": signed(iss="https://evil.example"),
        "other key, our id": bearer(".".join((head, body, other.split(".")[2]))),
        "other claims": bearer(".".join((head, encode({**decode(body), "jti": "x"}), signature))),
        "another uid": signed(bound=BoundTo("default", Reference("robot", "0"))),
        "nobody's": signed(bound=BoundTo("default", Reference("gone", "0"))),
        "for a proxy": (("X-Remote-User", "admin"), ("X-Remote-Group", MASTERS), ("X-Forwarded-User", "admin")),
        "in a protocol": (("Sec-WebSocket-Protocol", f"base64url.bearer.authorization.k8s.io.{encode(good)}"),),
    }
    return everywhere, somewhere


NO_CREDENTIALS = ("nothing", "in a cookie", "for a proxy", "in a protocol")


def is_public(asked: Asked) -> bool:
    return asked.method == "GET" and asked.target.partition("?")[0] in PUBLIC


def expected(name: str, asked: Asked) -> tuple[int, ...]:
    if name not in NO_CREDENTIALS:
        return (401,)  # what is shown and wrong is refused even where nothing need be shown
    return (200,) if is_public(asked) else (401, 403)


def is_for_everybody(asked: Asked) -> bool:
    """What anybody with credentials may do: see what there is, and ask about themselves."""
    path = asked.target.partition("?")[0]
    if asked.method == "POST":
        return path.removesuffix("/x").rpartition("/")[2] in REVIEWS
    is_discovery = path.split("/")[1] in ("api", "apis") and len(path.split("/")) <= (3 if path[:5] != "/apis" else 4)
    return asked.method == "GET" and (path in PUBLIC or is_discovery or path.startswith("/openapi"))


async def prepare(guarded: Guarded) -> list[str]:
    robot = {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "robot"}}
    await guarded.make("/api/v1/namespaces/default/serviceaccounts", robot)
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await guarded.make(definitions, definition(), definition("cogs", scope="Cluster"))
    return await every_path(guarded)


async def probe(guarded: Guarded, tls: ssl.SSLContext, paths: list[str], headers: Headers) -> list[tuple[Asked, Told]]:
    requests = [asked for path in paths for asked in every_request(path, headers)]
    return list(zip(requests, await guarded.ask_all(tls, requests), strict=True))


@pytest.mark.slow
def test_nobody_gets_in_anywhere(tmp_path: Path) -> None:
    async def test(guarded: Guarded) -> None:
        paths = await prepare(guarded)
        everywhere, somewhere = await build_credentials(guarded)
        probes = 0
        for name, headers in {**everywhere, **somewhere}.items():
            told = await probe(guarded, guarded.tls(), paths if name in everywhere else paths[::SOME], headers)
            assert [(name, asked, got) for asked, got in told if got.status not in expected(name, asked)] == []
            probes += len(told)
        assert probes >= LEAST, f"{probes} probes of {len(paths)} paths"

    guarding(tmp_path / "data", test, seconds=300)


def test_the_matrix_knows_every_resource_that_is_served(tmp_path: Path) -> None:
    async def test(guarded: Guarded) -> None:
        paths = set(await prepare(guarded))
        for resource in guarded.server.core.registry.all():
            prefix = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
            place = f"{prefix}/namespaces/default" if resource.is_namespaced else prefix
            wanted = {f"{place}/{resource.plural}", f"{place}/{resource.plural}/x"}
            assert wanted | {f"{place}/{resource.plural}/x/{name}" for name in resource.subresources} <= paths
        assert {f"/apis/fold.example/v1/cogs/x/{name}" for name in ("status", "scale")} <= paths

    guarding(tmp_path / "data", test)


@pytest.mark.slow
def test_who_has_no_rights_sees_what_everybody_may_and_nothing_else(tmp_path: Path) -> None:
    async def test(guarded: Guarded) -> None:
        told = await probe(guarded, guarded.tls_of("stranger"), await prepare(guarded), ())
        assert [(asked, got) for asked, got in told if got.status != 403 and not is_for_everybody(asked)] == []
        opened = Counter(asked.method for asked, got in told if got.status < 300)
        assert opened["GET"] > 50
        assert opened.keys() <= {"GET", "POST"}

    guarding(tmp_path / "data", test)


def forged_certificates(guarded: Guarded, now: float) -> dict[str, Credential]:
    own, foreign = guarded.identity.authority, build_authority(now)
    return {
        "another authority": build_client_certificate(foreign, "admin", (MASTERS,), now),
        "expired": build_client_certificate(own, "admin", (MASTERS,), now - 7200, life=3600),
        "not yet valid": build_client_certificate(own, "admin", (MASTERS,), now + 7200, life=3600),
        "a server's": guarded.identity.server,
        "any server's": build_server_certificate(own, now, ("admin",)),
    }


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_certificate_that_does_not_count_ends_the_handshake(tmp_path: Path, version: ssl.TLSVersion) -> None:
    async def test(guarded: Guarded) -> None:
        for name, credential in forged_certificates(guarded, time.time()).items():
            tls = guarded.tls(credential)
            tls.maximum_version = version
            assert await first_answer(guarded, tls) is None, name
        good = guarded.tls_of("admin", MASTERS)
        good.maximum_version = version
        told = await first_answer(guarded, good)
        assert told is not None
        assert told.status == 200

    guarding(tmp_path / "data", test)


async def first_answer(guarded: Guarded, tls: ssl.SSLContext) -> Told | None:
    try:
        async with guarded.wire(tls) as wire:
            return await wire.ask(Asked("GET", "/healthz"))
    except OSError:  # TLS 1.2 ends before the first request, 1.3 after it
        return None
