"""What a web page could make a browser send to the server on its own machine, with the user's certificate.

A browser adds the client certificate by itself, so a page needs no secret. What it cannot do is lie about where it
comes from: the name it was opened under (Host), its origin (Origin) and its relation to us (Sec-Fetch-Site).
"""

from pathlib import Path

import pytest

from embedded.security.guarded import Guarded, guarding
from embedded.security.routes import METHODS, UPGRADE
from embedded.security.wire import Asked, Told

MAPS = "/api/v1/namespaces/default/configmaps"
BODY = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"csrf"}}'
PATHS = (MAPS, f"{MAPS}/m", "/api", "/version", "/healthz", "/", "/api/v1/namespaces/default/pods/p/exec?command=sh")
FORM_TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain; application/json")

Headers = tuple[tuple[str, str], ...]

FOREIGN: dict[str, Headers] = {
    "rebound name": (("Host", "evil.example"),),
    "rebound name with our port": (("Host", "evil.example:{port}"), ("Origin", "https://evil.example:{port}")),
    "a name like ours": (("Host", "localhost.evil.example:{port}"),),
    "foreign origin": (("Origin", "https://evil.example"),),
    "opaque origin": (("Origin", "null"),),
    "extension": (("Origin", "chrome-extension://abcdef"),),
    "another service of this machine": (("Origin", "http://localhost:8265"),),
    "our name without the port": (("Host", "localhost:{port}"), ("Origin", "https://localhost")),
    "two origins": (("Host", "localhost:{port}"), ("Origin", "https://localhost:{port}"), ("Origin", "https://evil.example")),
    "cross-site image": (("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "image")),
    "cross-site link": (("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-User", "?1")),
    "another port's page": (("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "cors")),
}  # fmt: skip


def filled(headers: Headers, port: int) -> Headers:
    return tuple((name, value.replace("{port}", str(port))) for name, value in headers)


def ask(method: str, path: str, headers: Headers) -> Asked:
    return Asked(method, path, headers, BODY if method in ("POST", "PUT", "PATCH") else b"")


def betrays_nothing(told: Told) -> bool:
    """No answer allows a page to read it."""
    return not any(name.startswith("access-control-") for name in told.headers)


@pytest.mark.parametrize("name", FOREIGN)
def test_a_page_from_elsewhere_gets_nothing_with_the_users_own_certificate(tmp_path: Path, name: str) -> None:
    async def test(guarded: Guarded) -> None:
        headers = filled(FOREIGN[name], guarded.server.port)
        asked = [ask(method, path, headers) for path in PATHS for method in METHODS]
        asked += [Asked("GET", path, (*headers, *UPGRADE)) for path in PATHS]
        answers = await guarded.ask_all(guarded.admin(), asked)
        assert {told.status for told in answers} == {403}
        assert all(betrays_nothing(told) for told in answers)
        assert (await guarded.do("GET", f"{MAPS}/csrf")).status == 404

    guarding(tmp_path / "data", test)


@pytest.mark.parametrize("content_type", FORM_TYPES)
def test_a_form_of_a_foreign_page_writes_nothing(tmp_path: Path, content_type: str) -> None:
    """Forms are sent without asking first; they carry an origin, and none of their types is one of the API's."""

    async def test(guarded: Guarded) -> None:
        kind = ("Content-Type", content_type)
        foreign = await guarded.ask_all(
            guarded.admin(), [Asked("POST", MAPS, (kind, ("Origin", "https://evil.example")), BODY)]
        )
        without = await guarded.ask_all(guarded.admin(), [Asked("POST", MAPS, (kind,), BODY)])
        assert (foreign[0].status, without[0].status) == (403, 415)
        assert (await guarded.do("GET", f"{MAPS}/csrf")).status == 404

    guarding(tmp_path / "data", test)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_a_preflight_is_never_granted(tmp_path: Path, method: str) -> None:
    async def test(guarded: Guarded) -> None:
        wishes = (("Access-Control-Request-Method", method), ("Access-Control-Request-Headers", "authorization"))
        own = f"https://localhost:{guarded.server.port}"
        for origin in ("https://evil.example", "null", own):
            headers = (("Host", f"localhost:{guarded.server.port}"), ("Origin", origin), *wishes)
            for tls in (guarded.tls(), guarded.admin()):
                for told in await guarded.ask_all(tls, [Asked("OPTIONS", path, headers) for path in PATHS]):
                    assert told.status >= 400
                    assert betrays_nothing(told)

    guarding(tmp_path / "data", test)


def test_our_own_names_and_addresses_are_answered(tmp_path: Path) -> None:
    """Without this the other tests could pass on a server that refuses everything."""

    async def test(guarded: Guarded) -> None:
        port = guarded.server.port
        own: list[Headers] = [
            (("Host", f"localhost:{port}"),),
            (("Host", f"127.0.0.1:{port}"),),
            (("Host", "kubernetes.default.svc"),),
            (("Host", f"localhost:{port}"), ("Origin", f"https://localhost:{port}")),
            (("Host", f"localhost:{port}"), ("Sec-Fetch-Site", "none")),
        ]
        for headers in own:
            assert (await guarded.ask_all(guarded.admin(), [Asked("GET", MAPS, headers)]))[0].status == 200

    guarding(tmp_path / "data", test)


@pytest.mark.parametrize(
    "target", ["https://evil.example{path}", "http://evil.example{path}", "//evil.example{path}", "evil.example:443"]
)
def test_an_absolute_address_does_not_change_who_is_asked(tmp_path: Path, target: str) -> None:
    async def test(guarded: Guarded) -> None:
        asked = Asked("GET", target.replace("{path}", MAPS))
        async with guarded.wire(guarded.tls()) as wire:
            told = await wire.ask(asked)
        assert told is None or told.status in (400, 401, 403, 404)

    guarding(tmp_path / "data", test)
