"""The definitions of the Gateway API on the embedded server: accepted with all their rules, defaults and refusals."""

import asyncio
from typing import Any

from heliostat.embedded.gateway.definitions import API_VERSION, GATEWAY, HTTP_ROUTE, build_gateway_class, gateway_crds
from heliostat.testing import ApiServer

GATEWAYS = GATEWAY.collection_path("default")
ROUTES = HTTP_ROUTE.collection_path("default")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def gateway(*listeners: dict[str, Any]) -> dict[str, Any]:
    spec = {"gatewayClassName": "heliostat", "listeners": list(listeners)}
    return {"apiVersion": API_VERSION, "kind": "Gateway", "metadata": {"name": "web"}, "spec": spec}


def route(**rule: Any) -> dict[str, Any]:
    spec = {"parentRefs": [{"name": "web"}], "rules": [rule]}
    return {"apiVersion": API_VERSION, "kind": "HTTPRoute", "metadata": {"name": "web"}, "spec": spec}


async def serve(server: ApiServer) -> None:
    for tree in gateway_crds():
        await server.request("POST", CRDS, tree)
    await server.request("POST", "/apis/gateway.networking.k8s.io/v1/gatewayclasses", build_gateway_class())


def test_objects_get_the_defaults_of_the_published_schemas() -> None:
    async def run() -> None:
        async with ApiServer() as server, asyncio.timeout(60):
            await serve(server)
            made = await server.request("POST", GATEWAYS, gateway({"name": "http", "protocol": "HTTP", "port": 80}))
            assert made["spec"]["listeners"][0]["allowedRoutes"] == {"namespaces": {"from": "Same"}}
            assert {each["type"] for each in made["status"]["conditions"]} == {"Accepted", "Programmed"}
            made = await server.request("POST", ROUTES, route(backendRefs=[{"name": "one", "port": 80}]))
            assert made["spec"]["parentRefs"] == [
                {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "web"}
            ]
            rule = made["spec"]["rules"][0]
            assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/"}}]
            assert rule["backendRefs"] == [{"group": "", "kind": "Service", "name": "one", "port": 80, "weight": 1}]

    asyncio.run(run())


HTTP = {"name": "http", "protocol": "HTTP", "port": 80}
BAD = [
    (GATEWAYS, gateway(), "spec.listeners"),
    (GATEWAYS, gateway(HTTP, HTTP), "spec.listeners[1]"),
    (GATEWAYS, gateway(HTTP, {**HTTP, "name": "other"}), "Combination of port, protocol and hostname must be unique"),
    (GATEWAYS, gateway({**HTTP, "port": 0}), "spec.listeners[0].port"),
    (ROUTES, route(backendRefs=[{"name": "one"}]), "Must have port for Service reference"),
    (ROUTES, route(matches=[{"path": {"value": "no-slash"}}]), "value must be an absolute path"),
    (ROUTES, route(backendRefs=[{"name": "one", "port": 80, "weight": -1}]), "spec.rules[0].backendRefs[0].weight"),
]


def test_the_published_rules_refuse_what_they_refuse_anywhere() -> None:
    async def run() -> None:
        async with ApiServer() as server, asyncio.timeout(60):
            await serve(server)
            for path, tree, words in BAD:
                answer = await server.request("POST", path, tree)
                assert answer["reason"] == "Invalid"
                assert words in answer["message"]

    asyncio.run(run())
