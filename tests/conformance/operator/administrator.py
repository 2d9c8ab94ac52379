"""Who sets a world up and looks at it: plain requests to any server, with every refusal raised."""

from typing import Any

import msgspec

from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.errors import error_of
from heliostat.runtime.transport import JSON, MERGE_PATCH, Call, Transport

SECONDS = 60.0  # a real server under load takes its time
NAMESPACE = ResourceType("v1", "Namespace", "namespaces", is_namespaced=False)
EVENT = ResourceType("events.k8s.io/v1", "Event", "events")


class Administrator:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(self, resource: ResourceType, tree: JsonObject) -> Any:
        namespace = tree["metadata"].get("namespace", "")
        return await self._request("POST", resource.collection_path(namespace), tree)

    async def get(self, resource: ResourceType, namespace: str, name: str) -> Any:
        return await self._request("GET", resource.path(namespace, name))

    async def items(self, resource: ResourceType, namespace: str = "") -> list[JsonObject]:
        found = await self._request("GET", resource.collection_path(namespace))
        items: list[JsonObject] = found["items"]
        return items

    async def merge(
        self, resource: ResourceType, namespace: str, name: str, changes: JsonObject, subresource: str = ""
    ) -> Any:
        path = resource.path(namespace, name, subresource)
        return await self._request("PATCH", path, changes, MERGE_PATCH)

    async def delete(self, resource: ResourceType, namespace: str, name: str) -> None:
        await self._request("DELETE", resource.path(namespace, name))

    async def close(self) -> None:
        await self._transport.close()

    async def _request(self, method: str, path: str, tree: JsonObject | None = None, content_type: str = JSON) -> Any:
        body = b"" if tree is None else encode_json(tree)
        call = Call(method=method, path=path, body=body, content_type=content_type)
        reply = await self._transport.send(call, SECONDS)
        if reply.status >= 400:
            raise error_of(reply.status, reply.body)
        return msgspec.json.decode(reply.body)
