"""Every route of a server, from what it says about itself: resources, their subresources, and its own paths."""

from collections.abc import Iterator
from typing import Any

from embedded.security.guarded import JSON, PATCHES, Guarded
from embedded.security.wire import Asked

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
UPGRADE = (
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
    ("Sec-WebSocket-Protocol", "v5.channel.k8s.io"),
)
SPDY = (("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), ("X-Stream-Protocol-Version", "v4.channel.k8s.io"))
# What is not served, and what other servers have served by mistake.
NOWHERE = (
    "/metrics", "/debug/pprof/", "/debug/pprof/heap", "/logs", "/logs/", "/configz", "/swagger.json", "/ui", "/static/",
    "/nothing", "/api/v2/pods", "/api/v1/nothing", "/api/v1/namespaces/default/nothing/x", "/apis/nothing.io/v1/things",
    "/apis/apps/v9/deployments", "/api/v1/watch/pods", "/api/v1/proxy/nodes/n/", "/healthz/../api/v1/secrets",
    "/version/../api/v1/secrets", "/healthz%2f..%2fapi%2fv1%2fsecrets", "//api/v1/secrets", "/healthzx",
    "/api/v1//secrets", "/openapi/v3/../../api/v1/secrets", "/openid/v1/jwks",
    "/.well-known/openid-configuration", "/livez/x",
)  # fmt: skip


def definition(plural: str = "gadgets", group: str = "fold.example", scope: str = "Namespaced") -> dict[str, Any]:
    kind = plural.capitalize().removesuffix("s")
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "singular": plural.removesuffix("s"), "kind": kind},
            "versions": [version],
        },
    }


async def every_path(guarded: Guarded) -> list[str]:
    """Asked as the administrator, who may see all of it."""
    own = (await guarded.do("GET", "/")).tree["paths"]
    groups = (await guarded.do("GET", "/apis")).tree["groups"]
    prefixes = ["/api/v1", *(f"/apis/{version['groupVersion']}" for group in groups for version in group["versions"])]
    openapi = list((await guarded.do("GET", "/openapi/v3")).tree["paths"])
    paths = {"/", "/version/", *own, *prefixes, *NOWHERE, *(f"/openapi/v3/{path}" for path in openapi)}
    for prefix in prefixes:
        for row in (await guarded.do("GET", prefix)).tree["resources"]:
            paths.update(_paths_of(prefix, row["name"], namespaced=row["namespaced"]))
    return sorted(paths)


def _paths_of(prefix: str, name: str, *, namespaced: bool) -> Iterator[str]:
    plural, _, subresource = name.partition("/")
    places = (f"{prefix}/namespaces/default/{plural}", f"{prefix}/{plural}") if namespaced else (f"{prefix}/{plural}",)
    if subresource:
        yield f"{places[0]}/x/{subresource}"
        if subresource == "proxy":
            yield f"{places[0]}/x/{subresource}/secret"
        return
    yield from places
    yield f"{places[0]}/x"


def every_request(path: str, headers: tuple[tuple[str, str], ...]) -> list[Asked]:
    """Every method, a watch, and both kinds of upgrade."""
    requests = [_ask(method, path, headers) for method in METHODS]
    requests.append(Asked("GET", f"{path}?watch=true&timeoutSeconds=1", headers))
    requests += [Asked("GET", path, (*headers, *upgrade)) for upgrade in (UPGRADE, SPDY)]
    return requests


def _ask(method: str, path: str, headers: tuple[tuple[str, str], ...]) -> Asked:
    if method in ("POST", "PUT"):
        return Asked(method, path, (*headers, JSON), b"{}")
    return Asked(method, path, (*headers, PATCHES), b"{}") if method == "PATCH" else Asked(method, path, headers)
