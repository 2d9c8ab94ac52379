"""The whole client over HTTPS against the embedded server, with every fault on demand."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.serving import ServerOptions
from heliostat.kube.documents import read_documents
from heliostat.kube.hidden import Hidden
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.client import Client, Exchange
from heliostat.runtime.errors import (
    AlreadyExistsError,
    AmbiguousError,
    ApiError,
    ConflictError,
    ExpiredError,
    FencedError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ThrottledError,
    UnavailableError,
)
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import load_connection
from heliostat.runtime.limit import Lane, LimitState, Reception
from heliostat.runtime.limiter import Limiter
from heliostat.runtime.transport import Call, Chunks
from heliostat.testing import ApiServer, Cut, Delay, Drop, Fault, Refuse
from runtime.kubeconfig_files import config, write

pytestmark = pytest.mark.slow

MAPS = ResourceType("v1", "ConfigMap", "configmaps")
PODS = ResourceType("v1", "Pod", "pods")
NODES = ResourceType("v1", "Node", "nodes", is_namespaced=False)
NAMESPACES = ResourceType("v1", "Namespace", "namespaces", is_namespaced=False)
BINDINGS = ResourceType("v1", "Binding", "pods", subresource="binding")


def config_map(name: str = "a", **data: str) -> dict[str, Any]:
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "labels": {"name": name}},
        "data": data,
    }


def clock() -> float:
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def client_of(kubeconfig: Path, **more: Any) -> AsyncIterator[Client]:
    transport = HttpsTransport(load_connection([kubeconfig], {}))
    try:
        yield Client(transport, clock=clock, **{"request_seconds": 10.0, **more})
    finally:
        await transport.close()


def serve(test: Callable[[ApiServer, Client], Awaitable[None]], **more: Any) -> None:
    async def run() -> None:
        async with ApiServer() as server, client_of(server.kubeconfig, **more) as client, asyncio.timeout(40):
            await test(server, client)

    asyncio.run(run())


def decoded(body: bytes) -> Any:
    return msgspec.json.decode(body)


def test_an_object_through_its_life() -> None:
    async def test(_server: ApiServer, client: Client) -> None:
        made = decoded(await client.create(MAPS, config_map(x="1")))["metadata"]
        assert decoded(await client.get(MAPS, "default", "a"))["data"] == {"x": "1"}
        changes = {"metadata": {"resourceVersion": made["resourceVersion"]}, "data": {"x": None, "y": "2"}}
        patched = decoded(await client.patch(MAPS, "default", "a", changes))
        assert patched["data"] == {"y": "2"}
        replaced = decoded(await client.replace(MAPS, {**patched, "data": {"z": "3"}}))
        assert replaced["data"] == {"z": "3"}
        version = replaced["metadata"]["resourceVersion"]
        await client.delete(MAPS, "default", "a", uid=made["uid"], resource_version=version)
        with pytest.raises(NotFoundError, match='configmaps "a" not found'):
            await client.get(MAPS, "default", "a")

    serve(test)


def test_a_pod_is_bound_and_its_status_written() -> None:
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    binding = {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "default"},
        "target": {"kind": "Node", "name": "n"},
    }

    async def test(_server: ApiServer, client: Client) -> None:
        await client.create(NODES, {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}})
        uid = decoded(await client.create(PODS, pod))["metadata"]["uid"]
        await client.create(BINDINGS, binding)
        assert decoded(await client.get(PODS, "default", "p"))["spec"]["nodeName"] == "n"
        status = decoded(
            await client.patch(PODS, "default", "p", {"status": {"phase": "Running"}}, subresource="status")
        )
        assert status["status"]["phase"] == "Running"
        await client.delete(PODS, "default", "p", uid=uid, propagation="Background", grace_seconds=0)
        with pytest.raises(NotFoundError):
            await client.get(PODS, "default", "p")

    serve(test)


def test_lists_come_in_pages_selected_and_slim_on_request() -> None:
    async def test(_server: ApiServer, client: Client) -> None:
        for name in "abc":
            await client.create(MAPS, config_map(name, x="1"))
        first = decoded(await client.list_page(MAPS, namespace="default", limit=2))
        token = first["metadata"]["continue"]
        second = decoded(await client.list_page(MAPS, namespace="default", limit=2, continue_token=token))
        assert [item["metadata"]["name"] for item in first["items"] + second["items"]] == ["a", "b", "c"]
        selected = decoded(await client.list_page(MAPS, label_selector="name in (b)", resource_version="0"))
        assert [item["data"] for item in selected["items"]] == [{"x": "1"}]
        slim = decoded(await client.list_page(MAPS, field_selector="metadata.name=c", metadata_only=True))
        assert slim["kind"] == "PartialObjectMetadataList"
        assert [sorted(item) for item in slim["items"]] == [["apiVersion", "kind", "metadata"]]

    serve(test)


def test_a_watch_begins_with_everything_and_goes_on() -> None:
    async def test(_server: ApiServer, client: Client) -> None:
        await client.create(MAPS, config_map("a"))
        for metadata_only in (False, True):
            chunks = await client.open_watch(
                MAPS, namespace="default", initial_events=True, timeout_seconds=60, metadata_only=metadata_only
            )
            lines = await read_lines(chunks, 2)
            assert [line["type"] for line in lines] == ["ADDED", "BOOKMARK"]
            kind = "PartialObjectMetadata" if metadata_only else "ConfigMap"
            assert lines[0]["object"]["kind"] == kind
            await chunks.aclose()
        version = lines[1]["object"]["metadata"]["resourceVersion"]
        later = await client.open_watch(MAPS, resource_version=version, label_selector="name=b", timeout_seconds=60)
        await client.create(MAPS, config_map("b"))
        assert [line["object"]["metadata"]["name"] for line in await read_lines(later, 1)] == ["b"]
        await later.aclose()

    serve(test)


async def read_lines(chunks: Chunks, count: int) -> list[Any]:
    data = b""
    while data.count(b"\n") < count:
        data += await anext(chunks)
    return [decoded(line) for line in data.splitlines()]


def test_a_watch_from_forgotten_history_is_expired() -> None:
    async def test(server: ApiServer, client: Client) -> None:
        old = decoded(await client.create(MAPS, config_map("a")))["metadata"]["resourceVersion"]
        await client.create(MAPS, config_map("b"))
        server.compact()
        try:
            chunks = await client.open_watch(MAPS, resource_version=old, timeout_seconds=60)
            line = (await read_lines(chunks, 1))[0]
            await chunks.aclose()
            assert (line["type"], line["object"]["code"]) == ("ERROR", 410)
        except ExpiredError:
            pass  # a server may also refuse before it begins

    serve(test)


def test_a_watch_that_is_refused_raises_what_the_refusal_means() -> None:
    async def test(server: ApiServer, client: Client) -> None:
        for code, error in ((410, ExpiredError), (429, ThrottledError), (403, ForbiddenError)):
            server.faults.add(Fault(Refuse(code), watch=True))
            with pytest.raises(error):
                await client.open_watch(MAPS, timeout_seconds=60)
        assert client.limiter.in_flight == 0

    serve(test)


def test_a_watch_cut_inside_a_line_ends() -> None:
    async def test(server: ApiServer, client: Client) -> None:
        await client.create(MAPS, config_map())
        server.faults.add(Fault(Cut(mid_line=True), watch=True))
        chunks = await client.open_watch(MAPS, namespace="default", initial_events=True, timeout_seconds=60)
        assert not b"".join([data async for data in chunks]).endswith(b"\n")
        await chunks.aclose()

    serve(test)


Wrong: TypeAlias = Callable[[Client], Awaitable[bytes]]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda client: client.get(MAPS, "default", "none"), NotFoundError),
        (lambda client: client.create(MAPS, config_map("there")), AlreadyExistsError),
        (lambda client: client.delete(MAPS, "default", "there", uid="another"), ConflictError),
        (lambda client: client.patch(MAPS, "default", "there", {"metadata": {"resourceVersion": "1"}}), ConflictError),
        (lambda client: client.create(MAPS, config_map("No Name!")), InvalidError),
        (lambda client: client.request(Call(method="POST", path="/api/v1/nothing")), NotFoundError),
        (lambda client: client.list_page(MAPS, label_selector="a in"), InvalidError),
    ],
)
def test_a_refusal_has_its_own_class(wrong: Wrong, error: type[ApiError]) -> None:
    async def test(_server: ApiServer, client: Client) -> None:
        await client.create(MAPS, config_map("there"))
        with pytest.raises(error):
            await wrong(client)

    serve(test)


def count_requests(server: ApiServer) -> None:
    """Everything from here on is in ``server.faults.met``."""
    server.faults.add(Fault(Delay(0.0), times=1000))


@pytest.mark.parametrize("code", [429, 503])
def test_a_throttled_write_is_tried_again_after_the_time_the_server_asks_for(code: int) -> None:
    async def test(server: ApiServer, client: Client) -> None:
        server.faults.add(Fault(Refuse(code, retry_after=1), method="POST"))
        before = time.monotonic()
        await client.create(MAPS, config_map())
        assert time.monotonic() - before >= 0.99
        assert client.limiter.limit < 16

    serve(test)


def test_a_server_that_wants_more_time_than_there_is_gets_its_answer_told_at_once() -> None:
    async def test(server: ApiServer, client: Client) -> None:
        server.faults.add(Fault(Refuse(429, retry_after=60)))
        before = time.monotonic()
        with pytest.raises(ThrottledError) as raised:
            await client.get(MAPS, "default", "a")
        assert raised.value.retry_after == 60
        assert time.monotonic() - before < 5

    serve(test)


@pytest.mark.parametrize(("after", "exists"), [(False, False), (True, True)])
def test_a_write_whose_answer_is_lost_is_ambiguous_and_sent_once(after: bool, exists: bool) -> None:
    async def test(server: ApiServer, client: Client) -> None:
        await client.get(NAMESPACES, "", "default")  # a connection that is used again
        server.faults.add(Fault(Drop(after=after), method="POST"))
        count_requests(server)
        with pytest.raises(AmbiguousError):
            await client.create(MAPS, config_map())
        assert [request.method for _fault, request in server.faults.met] == ["POST"]
        found = await server.request("GET", "/api/v1/namespaces/default/configmaps/a")
        assert (found["kind"] == "ConfigMap") is exists

    serve(test)


Written: TypeAlias = Callable[[Client, dict[str, Any]], Awaitable[bytes]]


@pytest.mark.parametrize(
    "write_again",
    [
        lambda client, made: client.replace(MAPS, {**made, "data": {"x": "1"}}),
        lambda client, made: client.delete(MAPS, "default", "a", uid=made["metadata"]["uid"]),
    ],
    ids=["replace", "delete"],
)
def test_replacing_and_deleting_are_sent_once_too(write_again: Written) -> None:
    async def test(server: ApiServer, client: Client) -> None:
        made = decoded(await client.create(MAPS, config_map()))
        server.faults.add(Fault(Drop(after=True)))
        count_requests(server)
        with pytest.raises(AmbiguousError):
            await write_again(client, made)
        assert len(server.faults.met) == 1

    serve(test)


@pytest.mark.parametrize("action", [Drop(), Refuse(500), Refuse(504)])
def test_a_read_that_fails_is_tried_again(action: Drop | Refuse) -> None:
    async def test(server: ApiServer, client: Client) -> None:
        await client.create(MAPS, config_map())
        server.faults.add(Fault(action, method="GET", times=2))
        assert decoded(await client.get(MAPS, "default", "a"))["kind"] == "ConfigMap"
        server.faults.add(Fault(action, method="GET", times=3))
        with pytest.raises(AmbiguousError):
            await client.get(MAPS, "default", "a")

    serve(test)


def test_no_answer_within_the_deadline_is_ambiguous_and_lowers_the_limit() -> None:
    async def test(server: ApiServer, client: Client) -> None:
        server.faults.add(Fault(Delay(20.0), method="POST"))
        before = time.monotonic()
        with pytest.raises(AmbiguousError, match="no answer within"):
            await client.create(MAPS, config_map())
        assert 0.4 < time.monotonic() - before < 5
        assert (client.limiter.limit, client.limiter.in_flight) == (8, 0)

    serve(test, request_seconds=0.5)


class Switch:
    """A fence for tests."""

    is_open = True
    asked = 0

    def check(self) -> None:
        self.asked += 1
        if not self.is_open:
            raise FencedError("not the leader")


def test_a_closed_fence_stops_writes_and_lets_reads_pass() -> None:
    fence = Switch()
    fence.is_open = False

    async def test(server: ApiServer, client: Client) -> None:
        count_requests(server)
        writes: list[Callable[[], Awaitable[bytes]]] = [
            lambda: client.create(MAPS, config_map()),
            lambda: client.patch(MAPS, "default", "a", {}),
            lambda: client.replace(MAPS, config_map()),
            lambda: client.delete(MAPS, "default", "a", uid="u"),
            lambda: client.request(Call(method="POST", path="/api/v1/namespaces/default/configmaps")),
        ]
        for write_once in writes:
            with pytest.raises(FencedError):
                await write_once()
        assert server.faults.met == []
        await client.list_page(MAPS)

    serve(test, fence=fence)


def test_the_fence_is_asked_after_all_waiting_and_before_every_sending() -> None:
    fence = Switch()

    async def test(server: ApiServer, client: Client) -> None:
        inside = [await client.limiter.enter(Lane.GET) for _ in range(2)]
        waiting = asyncio.create_task(client.create(MAPS, config_map()))
        while not client.limiter.waiting:
            await asyncio.sleep(0)
        assert fence.asked == 0
        fence.is_open = False
        client.limiter.leave(inside[0], Reception.UNKNOWN)
        with pytest.raises(FencedError):
            await waiting
        fence.is_open, fence.asked = True, 0
        server.faults.add(Fault(Refuse(429, retry_after=1), method="POST"))
        await client.create(MAPS, config_map())
        assert fence.asked == 2

    serve(test, fence=fence, limiter=Limiter(clock, LimitState(limit=2)))


def test_a_full_gate_makes_others_wait_and_urgent_ones_not() -> None:
    seen: list[Exchange] = []

    async def test(server: ApiServer, client: Client) -> None:
        for _ in range(2):
            await client.limiter.enter(Lane.WRITE)
        with pytest.raises(
            UnavailableError, match=r"not sent, no turn within 0.3 s: 2 requests are under way and 0 wait"
        ):
            await client.get(NAMESPACES, "", "default")
        (told,) = seen
        assert (told.verb, told.resource, told.outcome) == ("get", "namespaces", "NoTurn")
        assert told.waited >= 0.25
        async with client_of(server.kubeconfig, limiter=client.limiter, is_urgent=True) as urgent:
            assert decoded(await urgent.get(NAMESPACES, "", "default"))["kind"] == "Namespace"

    serve(test, limiter=Limiter(clock, LimitState(limit=2)), request_seconds=0.3, observe=seen.append)


def test_every_sending_is_observed() -> None:
    seen: list[Exchange] = []

    async def test(server: ApiServer, client: Client) -> None:
        await client.create(MAPS, config_map())
        server.faults.add(Fault(Drop(), method="GET"))
        await client.get(MAPS, "default", "a")
        with pytest.raises(NotFoundError):
            await client.get(PODS, "default", "none")
        await (await client.open_watch(MAPS, timeout_seconds=60)).aclose()
        assert [(one.verb, one.resource, one.outcome) for one in seen] == [
            ("create", "configmaps", "201"),
            ("get", "configmaps", "AmbiguousError"),
            ("get", "configmaps", "200"),
            ("get", "pods", "404"),
            ("watch", "configmaps", "200"),
        ]
        assert all(one.seconds > 0 and one.waited >= 0 for one in seen)

    serve(test, observe=seen.append)


def test_hundreds_at_once_all_arrive_and_the_limit_grows() -> None:
    async def test(_server: ApiServer, client: Client) -> None:
        await asyncio.gather(*(client.create(MAPS, config_map(f"m{n}")) for n in range(300)))
        found = decoded(await client.list_page(MAPS, namespace="default"))
        assert len(found["items"]) == 300
        assert client.limiter.limit > 16
        assert (client.limiter.in_flight, client.limiter.waiting) == (0, 0)

    serve(test, request_seconds=30.0)


def test_no_server_is_unavailable() -> None:
    async def run() -> None:
        async with ApiServer() as server:
            kubeconfig = server.kubeconfig.read_bytes()
        path = server.kubeconfig.parent
        path.mkdir()
        try:
            (path / "kubeconfig").write_bytes(kubeconfig)
            async with client_of(path / "kubeconfig") as client:
                with pytest.raises(UnavailableError):
                    await client.create(MAPS, config_map())
        finally:
            (path / "kubeconfig").unlink()
            path.rmdir()

    asyncio.run(run())


def cluster_of(server: ApiServer) -> dict[str, Any]:
    cluster: dict[str, Any] = read_documents(server.kubeconfig.read_bytes())[0].tree["clusters"][0]["cluster"]
    return cluster


def with_tokens(*tokens: str) -> ServerOptions:
    return ServerOptions(tokens=tuple((Hidden(token), User("robot", groups=(MASTERS,))) for token in tokens))


def test_a_rotated_token_counts_at_the_next_request(tmp_path: Path) -> None:
    async def run() -> None:
        async with ApiServer(with_tokens("second")) as server:
            (tmp_path / "token").write_text("first")
            path = write(tmp_path, config({"tokenFile": "token"}, cluster_of(server)))
            async with client_of(path) as client:
                with pytest.raises(ForbiddenError):
                    await client.list_page(MAPS)
                (tmp_path / "token").write_text("second")
                await client.list_page(MAPS)

    asyncio.run(run())


def test_a_plugin_is_asked_again_when_the_server_refuses_its_token(tmp_path: Path) -> None:
    credential = '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"}}'
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\nprintf '{credential}' \"$(cat {tmp_path}/token)\"\n")
    plugin.chmod(0o755)
    wanted = {"command": "./plugin", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}

    async def run() -> None:
        async with ApiServer(with_tokens("second")) as server:
            (tmp_path / "token").write_text("first")
            path = write(tmp_path, config({"exec": wanted}, cluster_of(server)))
            async with client_of(path) as client:
                with pytest.raises(ForbiddenError):
                    await client.list_page(MAPS)
                (tmp_path / "token").write_text("second")
                await client.list_page(MAPS)

    asyncio.run(run())


def test_another_user_may_not(tmp_path: Path) -> None:
    async def run() -> None:
        async with ApiServer() as server:
            (tmp_path / "kubeconfig").write_text(server.build_kubeconfig("nobody"))
            async with client_of(tmp_path / "kubeconfig") as client:
                with pytest.raises(ForbiddenError, match='User "nobody" cannot list resource "configmaps"'):
                    await client.list_page(MAPS)

    asyncio.run(run())
