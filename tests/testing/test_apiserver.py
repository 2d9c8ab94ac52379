"""The test kit's own promises: a server in a test, reachable as any other, with faults on demand."""

import asyncio
import base64
import json
import ssl
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from shutil import which
from typing import Any

import aiohttp
import pytest

from heliostat.kube.documents import read_documents
from heliostat.testing import ApiServer, Cut, Delay, Drop, Fault, Refuse, Stale, api_server_in_thread

MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str = "a") -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}}


def client_context(kubeconfig: Path, *, with_certificate: bool = True) -> ssl.SSLContext:
    """TLS as any client takes it from a kubeconfig."""
    tree = read_documents(kubeconfig.read_bytes())[0].tree
    authority = base64.b64decode(tree["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    user = tree["users"][0]["user"]
    with tempfile.NamedTemporaryFile("wb") as chain:
        chain.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        chain.flush()
        if with_certificate:
            context.load_cert_chain(chain.name)
    return context


Test = Callable[[ApiServer, aiohttp.ClientSession], Awaitable[None]]


def serve(test: Test, *, with_certificate: bool = True) -> None:
    async def run() -> None:
        async with ApiServer() as server:
            connector = aiohttp.TCPConnector(ssl=client_context(server.kubeconfig, with_certificate=with_certificate))
            async with aiohttp.ClientSession(server.address, connector=connector) as session, asyncio.timeout(20):
                await test(server, session)

    asyncio.run(run())


def test_it_answers_over_https_with_the_kubeconfigs_certificate() -> None:
    async def test(server: ApiServer, session: aiohttp.ClientSession) -> None:
        async with session.post(MAPS, json=config_map()) as answer:
            assert answer.status == 201
        assert (await server.request("GET", f"{MAPS}/a"))["metadata"]["name"] == "a"

    serve(test)


def test_nobody_else_gets_in() -> None:
    async def test(_server: ApiServer, session: aiohttp.ClientSession) -> None:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"}):
            async with session.get(MAPS, headers=headers) as answer:
                assert answer.status == 401
                assert (await answer.json())["reason"] == "Unauthorized"

    serve(test, with_certificate=False)


def test_a_page_from_elsewhere_is_refused() -> None:
    async def test(_server: ApiServer, session: aiohttp.ClientSession) -> None:
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            async with session.get(MAPS, headers=headers) as answer:
                assert answer.status == 403

    serve(test)


@pytest.mark.parametrize("code", [409, 410, 429, 500, 503])
def test_the_next_request_is_refused_and_the_one_after_is_not(code: int) -> None:
    async def test(server: ApiServer, session: aiohttp.ClientSession) -> None:
        server.faults.add(Fault(Refuse(code), method="POST", path="configmaps"))
        statuses = []
        for _ in range(2):
            async with session.post(MAPS, json=config_map()) as answer:
                statuses.append(answer.status)
        assert statuses == [code, 201]
        assert len(server.faults.met) == 1

    serve(test)


@pytest.mark.parametrize(("after", "found"), [(False, 404), (True, 200)])
def test_a_dropped_connection_may_or_may_not_have_written(after: bool, found: int) -> None:
    async def test(server: ApiServer, session: aiohttp.ClientSession) -> None:
        server.faults.add(Fault(Drop(after=after), method="POST"))
        with pytest.raises(aiohttp.ClientError):
            await session.post(MAPS, json=config_map())
        async with session.get(f"{MAPS}/a") as answer:
            assert answer.status == found

    serve(test)


def test_a_delay_lets_others_pass() -> None:
    async def test(server: ApiServer, session: aiohttp.ClientSession) -> None:
        server.faults.add(Fault(Delay(0.2), path="configmaps/slow"))
        done: list[str] = []

        async def get(name: str) -> None:
            async with session.get(f"{MAPS}/{name}"):
                done.append(name)

        await asyncio.gather(get("slow"), get("quick"))
        assert done == ["quick", "slow"]

    serve(test)


def test_a_stale_list_shows_the_past() -> None:
    async def test(server: ApiServer, session: aiohttp.ClientSession) -> None:
        await server.request("POST", MAPS, config_map("a"))
        server.faults.add(Fault(Stale(server.revision), method="GET"))
        await server.request("POST", MAPS, config_map("b"))
        names = []
        for _ in range(2):
            async with session.get(MAPS) as answer:
                names.append([item["metadata"]["name"] for item in (await answer.json())["items"]])
        assert names == [["a"], ["a", "b"]]

    serve(test)


@pytest.mark.parametrize(("cut", "whole"), [(Cut(1), 1), (Cut(1, mid_line=True), 1), (Cut(0), 0)])
def test_a_watch_is_cut(cut: Cut, whole: int) -> None:
    async def test(server: ApiServer, session: aiohttp.ClientSession) -> None:
        for name in ("a", "b"):
            await server.request("POST", MAPS, config_map(name))
        server.faults.add(Fault(cut, watch=True))
        async with session.get(MAPS, params={"watch": "1"}) as answer:
            text = await answer.text()
        lines = text.splitlines()
        assert [json.loads(line)["type"] for line in lines[:whole]] == ["ADDED"] * whole
        assert len(lines) == whole + cut.mid_line

    serve(test)


def test_history_can_be_forgotten() -> None:
    async def test(server: ApiServer, session: aiohttp.ClientSession) -> None:
        since = server.revision
        await server.request("POST", MAPS, config_map())
        server.compact()
        async with session.get(MAPS, params={"watch": "1", "resourceVersion": str(since)}) as answer:
            event = json.loads(await answer.content.readline())
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)

    serve(test)


@pytest.mark.skipif(which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_reaches_it_beside_a_blocking_test() -> None:
    with api_server_in_thread() as server:
        command = ["kubectl", f"--kubeconfig={server.kubeconfig}", "get", "--raw", "/api/v1/namespaces/default"]
        output = subprocess.run(command, check=True, capture_output=True, timeout=60).stdout
        assert json.loads(output)["metadata"]["name"] == "default"
        folder = server.kubeconfig.parent
    assert not folder.exists()


POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "a", "image": "a"}]},
}


def test_with_nodes_a_pod_runs_and_with_its_owner_it_goes() -> None:
    async def run() -> None:
        async with ApiServer(nodes=2) as server, asyncio.timeout(60):
            owner = await server.request("POST", MAPS, config_map())
            reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": owner["metadata"]["uid"]}
            pod = {**POD, "metadata": {"name": "a", "ownerReferences": [reference]}}
            path = "/api/v1/namespaces/default/pods"
            made = await server.request("POST", path, pod)
            assert made["spec"]["serviceAccountName"] == "default"
            await wait_for(server, f"{path}/a", lambda found: found["status"].get("phase") == "Running")
            await server.request("DELETE", f"{MAPS}/a")
            await wait_for(server, f"{path}/a", lambda found: found.get("code") == 404)

    asyncio.run(run())


def test_with_controllers_alone_nobody_runs_pods_and_volumes_are_made() -> None:
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    wish = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {"name": "c"}, "spec": wish}

    async def run() -> Path:
        async with ApiServer(controllers=True) as server, asyncio.timeout(60):
            assert (await server.request("GET", "/api/v1/nodes"))["items"] == []
            await server.request("POST", claims, claim)
            await wait_for(server, f"{claims}/c", lambda found: found["status"]["phase"] == "Bound")
            folder = server.kubeconfig.parent
            assert len(list((folder / "volumes").iterdir())) == 1
            return folder

    assert not asyncio.run(run()).exists()


def test_faults_are_for_clients_and_not_for_the_controllers() -> None:
    async def run() -> None:
        async with ApiServer(controllers=True) as server, asyncio.timeout(60):
            server.faults.add(Fault(Refuse(500), times=1000))
            await server.request("POST", "/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": "n"}})
            account = "/api/v1/namespaces/n/serviceaccounts/default"
            await wait_for(server, account, lambda found: found["kind"] == "ServiceAccount")
            assert server.faults.met == []

    asyncio.run(run())


async def wait_for(server: ApiServer, path: str, test: Callable[[Any], bool]) -> None:
    """The caller has a deadline."""
    while not test(await server.request("GET", path)):
        await asyncio.sleep(0.01)
