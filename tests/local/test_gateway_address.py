"""The address of a RayService behind a Gateway of the local node, which is played: asked for once, and told."""

import asyncio
from pathlib import Path
from typing import Any

from heliostat.embedded.doors.gateway import HOST_ADDRESS, HOST_PORT, gateway_crds
from heliostat.local import gateway_address
from heliostat.local.gateway_address import find_gateway, open_gateway_address
from heliostat.local.session import Session, open_session
from heliostat.testing import ApiServer

Tree = dict[str, Any]
GATEWAYS = "/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways"
SERVICE: Tree = {
    "metadata": {"name": "stand", "namespace": "default"},
    "spec": {"upgradeStrategy": {"type": "NewClusterWithIncrementalUpgrade"}},
}


def gateway(class_name: str) -> Tree:
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "stand-gateway"},
        "spec": {"gatewayClassName": class_name, "listeners": [listener]},
    }


async def carry_out(server: ApiServer) -> None:
    """What the node does once it is asked."""
    while HOST_PORT not in (
        (await server.request("GET", f"{GATEWAYS}/stand-gateway"))["metadata"].get("annotations") or {}
    ):
        await asyncio.sleep(0.02)
    found = await server.request("GET", f"{GATEWAYS}/stand-gateway")
    addresses = [{"type": "IPAddress", "value": "10.0.0.9"}, {"type": HOST_ADDRESS, "value": "127.0.0.1:4711"}]
    await server.request("PUT", f"{GATEWAYS}/stand-gateway/status", {**found, "status": {"addresses": addresses}})


def test_a_gateway_of_ours_is_asked_once_and_tells_its_address(tmp_path: Path) -> None:
    async def scene(server: ApiServer, session: Session) -> None:
        assert await find_gateway(session, SERVICE) is None
        assert await find_gateway(session, {**SERVICE, "spec": {}}) is None
        await server.request("POST", GATEWAYS, gateway("heliostat"))
        found = await find_gateway(session, SERVICE)
        assert found is not None
        played = asyncio.create_task(carry_out(server))
        assert await open_gateway_address(session, found) == "http://127.0.0.1:4711"
        await played
        again = await find_gateway(session, SERVICE)
        assert again is not None
        assert again["spec"]["gatewayClassName"] == "heliostat", "what is asked for leaves the rest alone"
        assert await open_gateway_address(session, again) == "http://127.0.0.1:4711"

    play(tmp_path, scene)


def test_another_class_is_not_ours_and_a_gateway_that_nobody_carries_out_opens_nothing(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(gateway_address, "_SECONDS", 0.1)

    async def scene(server: ApiServer, session: Session) -> None:
        await server.request("POST", GATEWAYS, gateway("istio"))
        assert await find_gateway(session, SERVICE) is None
        found = await server.request("GET", f"{GATEWAYS}/stand-gateway")
        assert await open_gateway_address(session, found, 8000) is None

    play(tmp_path, scene)


def play(folder: Path, scene: Any) -> None:
    async def run() -> None:
        async with ApiServer() as server:
            (folder / "kubeconfig").write_text(server.build_kubeconfig("tester", ("system:masters",)))
            for tree in gateway_crds():
                await server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", tree)
            async with open_session(folder / "kubeconfig", patience=5.0) as session:
                await scene(server, session)

    asyncio.run(run())
