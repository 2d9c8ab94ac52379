"""Where the server is stricter than kube-apiserver on purpose: the rows from K50 on of differences-kubernetes.md."""

from pathlib import Path

import pytest

from embedded.security.guarded import JSON, Guarded, guarding
from embedded.security.wire import Asked
from heliostat.embedded.server.limits import DEEPEST_BODY

MAPS = "/api/v1/namespaces/default/configmaps"
DOCUMENT = Path(__file__).parents[3] / "docs" / "differences-kubernetes.md"


def nested(levels: int) -> bytes:
    """A ConfigMap with an unknown field that nests so deeply; the object itself is the first level."""
    head = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"deep"},"x":'
    return head + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


def make(body: bytes) -> Asked:
    return Asked("POST", MAPS, (JSON,), body)


# id, whether with credentials, request, code, part of the message
STRICTER: list[tuple[str, bool, Asked, int, str]] = [
    *(("K50", False, Asked("GET", path), 401, "Unauthorized") for path in ("/api", "/apis", "/metrics", MAPS)),
    *(
        ("K51", True, Asked(method, path), 405, "does not allow this method")
        for path in ("/healthz", "/livez", "/readyz", "/apis", "/apis/apps", "/openapi/v2", "/openapi/v3")
        for method in ("POST", "PUT", "PATCH", "DELETE")
    ),
    ("K52", True, make(nested(DEEPEST_BODY + 1)), 400, "exceeded max depth"),
    ("K53", True, Asked("GET", f"{MAPS}/%ff"), 400, ""),
]


def test_what_kube_apiserver_would_let_pass_is_refused(tmp_path: Path) -> None:
    async def test(guarded: Guarded) -> None:
        for row, is_known, asked, code, words in STRICTER:
            tls = guarded.admin() if is_known else guarded.tls()
            told = (await guarded.ask_all(tls, [asked]))[0]
            assert (row, asked.method, asked.target, told.status) == (row, asked.method, asked.target, code)
            assert words in told.tree["message"]

    guarding(tmp_path / "data", test)


def test_what_is_as_deep_as_allowed_is_read(tmp_path: Path) -> None:
    async def test(guarded: Guarded) -> None:
        assert (await guarded.ask_all(guarded.admin(), [make(nested(DEEPEST_BODY))]))[0].status == 201

    guarding(tmp_path / "data", test)


@pytest.mark.parametrize("row", sorted({row[0] for row in STRICTER}))
def test_each_is_explained(row: str) -> None:
    assert f"| {row} |" in DOCUMENT.read_text()
