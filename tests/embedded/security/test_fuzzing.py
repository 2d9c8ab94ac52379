"""Paths, names and queries that nobody in their right mind would send: never a bug, never a way around, never a file.

Laws: no answer is a 5xx and no bug is met; an object is served under its own path only, however that is encoded; the
machine's files stay as they were.
"""

import asyncio
import random
import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, unquote

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.security.guarded import JSON, Guarded, guarded_server, guarding
from embedded.security.routes import METHODS, definition
from embedded.security.wire import Asked, Told
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.server.messages import Request, Stream

MAPS = "/api/v1/namespaces/default/configmaps"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
ADMIN = User("admin", groups=(MASTERS,))
PATHS = 10_000
SEED = 20260730

WORDS = (
    *("api", "apis", "v1", "namespaces", "default", "configmaps", "a", "secrets", "s", "pods", "p", "log", "proxy"),
    *(
        "status",
        "exec",
        "rbac.authorization.k8s.io",
        "roles",
        "fold.example",
        "gadgets",
        "watch",
        "openapi",
        "v2",
        "v3",
    ),
    *("healthz", "version", "serviceaccounts", "token", "kube-system", "customresourcedefinitions"),
)
ODD = (
    *(
        "..",
        ".",
        "",
        "%2e%2e",
        "%2E",
        "%2f",
        "%5c",
        "..%2f..",
        "%252e%252e",
        "%25",
        "%00",
        "a%00",
        "%0a",
        "%0d%0aX:%20y",
    ),
    *(
        "%ff",
        "%c0%ae",
        "%c0%af",
        "%e2%80%ae",
        "%ed%a0%80",
        "%F0%9F%92%A9",
        "a" * 300,
        "%61",
        "*",
        "~",
        ";",
        "a;b=c",
        ":",
    ),
    *("a:80", "http:a:80", "@", "%20", "a%20", "%09", "+", "A", "$(id)", "{name}", "null", "-1", "0", "_", "[", "]"),
    *("etc", "passwd", "state.db", "keys", "ca.pem", "%zz", "%2", "%", "|", "^", "`", "\\"),
)
RAW = ("<script>", '"', "é", "\udcff", "\x01", "\x7f", "a b", "\t")  # what the wire does not carry: rarely, it ends it
ENDS = (
    "",
    "",
    "",
    "/",
    "//",
    "?",
    "?x",
    "?watch=1&timeoutSeconds=1&resourceVersion=x",
    "#f",
    "?limit=1",
    "%3fwatch=true",
)


def generate_path(chance: random.Random) -> str:
    start = chance.choice((MAPS, "/api/v1/namespaces/default", "/api/v1", "/apis", "", "/", "//", "/healthz", ROLES))
    parts = [chance.choice(ODD if chance.random() < 0.5 else WORDS) for _ in range(chance.randrange(7))]
    parts += [chance.choice(RAW)] if chance.random() < 0.02 else []
    path = "/".join((start, *parts)) + chance.choice(ENDS)
    if chance.random() < 0.03:
        path = (
            chance.choice(("https://evil.example", "http://localhost", "file:///etc/passwd", "*", "localhost:443"))
            + path
        )
    return path if path.startswith(("/", "h", "f", "*", "l")) else f"/{path}"


def canonical(path: str) -> str:
    """The one path that an address means; a slash at the end means nothing."""
    bare = re.sub(r"^https?://[^/]+", "", path.partition("?")[0].partition("#")[0])
    return unquote(bare).rstrip("/")


def own_paths(tree: dict[str, Any]) -> set[str]:
    """Where an object may be served: at its place, or as what its status and scale say."""
    version = tree["apiVersion"]
    prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
    metadata = tree["metadata"]
    place = f"{prefix}/namespaces/{metadata['namespace']}" if "namespace" in metadata else prefix
    plural = f"{tree['kind'].lower()}s"
    item = f"{place}/{plural}/{metadata['name']}"
    return {item, f"{item}/status", f"{item}/finalize"}


def misplaced(asked: Asked, told: Told) -> bool:
    """An object under another path than its own."""
    if told.status != 200 or not told.body.startswith(b'{"kind"') or asked.method not in ("GET", "PUT", "PATCH"):
        return False
    tree = told.tree
    if "name" not in (tree.get("metadata") or {}):
        return False
    return canonical(asked.target) not in own_paths(tree)


def files_below(directory: Path) -> set[Path]:
    return {path.relative_to(directory) for path in directory.rglob("*")}


async def populate(guarded: Guarded) -> None:
    await guarded.make(MAPS, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}})
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    await guarded.make("/api/v1/namespaces/default/pods", {"kind": "Pod", "apiVersion": "v1", **pod})
    await guarded.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())


@pytest.mark.slow
def test_ten_thousand_paths_lead_nowhere_but_to_their_own_objects(tmp_path: Path) -> None:
    chance = random.Random(SEED)  # noqa: S311 - repeatable
    canary = tmp_path / "canary"
    canary.write_text("untouched")

    async def test(guarded: Guarded) -> None:
        await populate(guarded)
        files = files_below(tmp_path)
        methods = ("GET", "GET", "GET", *METHODS)
        requests = [
            Asked(chance.choice(methods), generate_path(chance), (JSON,), chance.choice((b"", b"", b"{}", b"[]")))
            for _ in range(PATHS)
        ]
        answers = await guarded.ask_all(guarded.admin(), requests, abreast=1)
        told = list(zip(requests, answers, strict=True))
        assert [row for row in told if row[1].is_bug] == []
        assert [row for row in told if misplaced(*row)] == []
        assert [row for row in told if b"Traceback" in row[1].body or b'.py"' in row[1].body] == []
        assert guarded.bugs == []
        assert files_below(tmp_path) == files
        assert canary.read_text() == "untouched"
        assert len({row[1].status for row in told}) > 4  # they do reach something

    guarding(tmp_path / "data", test, seconds=300)


class Fixed:
    """One server for all examples of a law, on an event loop of its own."""

    def __init__(self, run: Callable[[Coroutine[Any, Any, Any]], Any], guarded: Guarded) -> None:
        self.run = run
        self.guarded = guarded
        self._wire = guarded.wire(guarded.admin())
        run(self._wire.open())

    def handle(self, request: Request) -> tuple[int, bytes]:
        """In process; a stream is closed at once."""

        async def ask() -> tuple[int, bytes]:
            answer = await self.guarded.server.core.handle(request)
            if isinstance(answer, Stream):
                await answer.chunks.aclose()
                return answer.status, b""
            return answer.status, getattr(answer, "body", b"")

        found: tuple[int, bytes] = self.run(ask())
        return found

    def do(self, method: str, path: str, body: Any = None) -> Told:
        content = b"" if body is None else msgspec.json.encode(body)
        (told,) = self.run(self._wire.ask_many([Asked(method, path, (JSON,), content)]))
        assert isinstance(told, Told)
        return told

    def close(self) -> None:
        self.run(self._wire.close())


@contextmanager
def fixed_server() -> Iterator[Fixed]:
    with TemporaryDirectory(prefix="heliostat-fuzz-") as directory, asyncio.Runner() as runner:
        context = guarded_server(Path(directory) / "data")
        guarded = runner.run(context.__aenter__())
        try:
            runner.run(populate(guarded))
            server = Fixed(runner.run, guarded)
            yield server
            server.close()
        finally:
            runner.run(context.__aexit__(None, None, None))


names = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["..", ".", "a/b", "a%2fb", "%", "a\x00", "\n", "a b", "ü", "é", "A", "a" * 260, "a?b", "a#b", "\ufeff"]
    ),
    st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", fullmatch=True),
)


@pytest.mark.slow
def test_whatever_name_is_accepted_is_served_under_that_name_and_no_other() -> None:
    with fixed_server() as server:

        @settings(max_examples=150)
        @given(names, st.sampled_from([(MAPS, "ConfigMap", "v1"), (ROLES, "Role", "rbac.authorization.k8s.io/v1")]))
        def law(name: str, kind: tuple[str, str, str]) -> None:
            path, kind_name, api_version = kind
            body = {"kind": kind_name, "apiVersion": api_version, "metadata": {"name": name}}
            made = server.do("POST", path, body)
            assert made.status in (201, 409, 422, 400), made
            if made.status == 201:
                place = f"{path}/{quote(name, safe='')}"
                assert server.do("GET", place).tree["metadata"]["name"] == name
                for other in (f"{place}%20", f"{place}%00", f"{path}//{quote(name)}", f"{path}/./{quote(name)}"):
                    assert server.do("GET", other).status in (400, 404), other
                assert server.do("DELETE", place).status == 200
                assert server.do("GET", place).status in (400, 404)

        law()


@pytest.mark.slow
def test_a_generated_name_begins_as_asked_or_is_refused() -> None:
    with fixed_server() as server:

        @settings(max_examples=100)
        @given(names)
        def law(prefix: str) -> None:
            body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"generateName": prefix}}
            made = server.do("POST", MAPS, body)
            assert made.status in (201, 400, 422), made
            if made.status == 201:
                name = made.tree["metadata"]["name"]
                assert name.startswith(prefix[:248])
                assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name)

        law()


PARAMETERS = (
    "limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector", "timeoutSeconds",
    "watch", "sendInitialEvents", "allowWatchBookmarks", "dryRun", "fieldManager", "fieldValidation", "pretty", "force",
    "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "includeObject", "container", "tailLines", "follow",
    "sinceSeconds", "limitBytes", "command", "ports", "exclude", "verbose", "timeout",
)  # fmt: skip
NUMBERS = (
    "0",
    "1",
    "-1",
    "9" * 19,
    "9" * 30,
    "9" * 5000,
    "-" + "9" * 5000,
    "1e400",
    "NaN",
    "inf",
    "٣",
    "0x10",
    " 1",
    "1.5",
)
SELECTORS = ("a=b", "a=b,c=d", "metadata.name=a", "a in (b", "!", "=", ",", "(", "a," * 500, "((((((((((", "a" * 3000)
TOKENS = ("eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "e30", "bnVsbA", "W10", "eyJ2IjoxLCJydiI6Ii0iLCJzdGFydCI6bnVsbH0", "====")
CHOICES = ("", "true", "false", "null", "All", "Orphan", "Background", "Foreground", "Strict", "NotOlderThan", "Exact")
values = st.one_of(
    st.text(max_size=20),
    st.sampled_from([*NUMBERS, *SELECTORS, *TOKENS, *CHOICES, "\x00", "%", "1s", "999999h"]),
)
TARGETS = (
    MAPS, f"{MAPS}/a", "/api/v1/configmaps", "/api/v1/namespaces/default/pods/p/log", "/api/v1/namespaces/default/pods",
    "/apis/fold.example/v1/gadgets", "/api/v1/namespaces/default/pods/p/exec", "/healthz", "/readyz/ping", "/apis",
    "/api", "/openapi/v2", "/version", f"{MAPS}/missing", f"/api/v1/namespaces/default/pods/p:{'9' * 5000}/proxy",
    "/api/v1/namespaces/default/pods/p/portforward", f"/api/v1/namespaces/default/services/s:{'9' * 5000}/proxy",
)  # fmt: skip
BODIES = (
    b"",
    b"{}",
    b"[]",
    b"null",
    b'"x"',
    b"{",
    b"\xff",
    b"a: &x [*x]",
    b"k8s\x00",
    b"k8s\x00\xff\xff",
    b'{"a":"\\ud800"}',
)
ACCEPTS = st.one_of(
    st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=40),
    st.sampled_from([
        "", "*/*", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/html", ";",
        "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v9;g=x", "application/json;q=nan",
        "application/json;stream=watch", "a" * 5000, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    ]),
)  # fmt: skip


@pytest.mark.slow
def test_no_query_and_no_header_is_a_bug() -> None:
    with fixed_server() as server:

        @settings(max_examples=500)
        @given(
            st.sampled_from(("GET", "GET", "GET", *METHODS)),
            st.sampled_from(TARGETS),
            st.dictionaries(st.sampled_from(PARAMETERS), st.lists(values, max_size=2), max_size=4),
            st.fixed_dictionaries({}, optional={"accept": ACCEPTS, "content-type": ACCEPTS, "user-agent": ACCEPTS}),
            st.sampled_from(
                [b"", b"{}", b"[]", b"null", b'"x"', b"{", b"\xff", b"a: &x [*x]", b"k8s\x00", b"k8s\x00\xff\xff"]
            ),
        )
        def law(method: str, path: str, query: dict[str, list[str]], headers: dict[str, str], body: bytes) -> None:
            if path == MAPS and method == "DELETE":
                query["dryRun"] = ["All"]
            request = Request(method=method, path=path, user=ADMIN, query=query, headers=headers, body=body)
            status, content = server.handle(request)
            assert not Told(status, {}, content).is_bug, (status, content)
            assert server.guarded.bugs == []

        law()


@pytest.mark.parametrize("name", ["Accept", "Content-Type", "User-Agent", "X-Anything", "Origin", "Authorization"])
def test_a_header_of_odd_bytes_is_no_bug(tmp_path: Path, name: str) -> None:
    """The library hands bytes that are no UTF-8 on as half characters, which no answer can repeat."""

    async def test(guarded: Guarded) -> None:
        body = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"generateName":"a"}}'
        for value in ("\udcff", "a\udced\udca0\udc80", "é", "\udcc3(/\udcff"):
            for method, path in (("GET", MAPS), ("POST", MAPS), ("PATCH", f"{MAPS}/a?fieldManager=x")):
                asked = Asked(method, path, ((name, value),), body if method != "GET" else b"")
                async with guarded.wire(guarded.admin()) as wire:
                    told = await wire.ask(asked)
                assert told is not None, asked
                assert told.status < 500, (asked, told)

    guarding(tmp_path / "data", test)
