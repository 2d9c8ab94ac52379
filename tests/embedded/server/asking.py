"""Questions with headers of their own, for tests of what depends on them."""

from typing import Any

import msgspec

from embedded.server.inprocess import ADMIN, Client
from heliostat.embedded.server.messages import Request, Response

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def ask(
    client: Client, path: str, accept: str = "", *, headers: dict[str, str] | None = None, **query: str
) -> Response:
    given = {**({"accept": accept} if accept else {}), **(headers or {})}
    values = {key: [value] for key, value in query.items()}
    answer = await client.core.handle(Request(method="GET", path=path, user=ADMIN, query=values, headers=given))
    assert isinstance(answer, Response), answer
    return answer


async def ask_tree(client: Client, path: str, accept: str = "", **query: str) -> Any:
    answer = await ask(client, path, accept, headers=None, **query)
    assert answer.status == 200, answer
    return msgspec.json.decode(answer.body)


def thing_definition(**changes: Any) -> dict[str, Any]:
    """A CRD with three versions, columns of every type, status and scale."""
    columns = [
        {"name": "Text", "type": "string", "jsonPath": ".spec.text"},
        {"name": "Tree", "type": "string", "jsonPath": ".spec.tree"},
        {"name": "Whole", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
        {"name": "Number", "type": "number", "jsonPath": ".spec.share", "format": "double"},
        {"name": "Flag", "type": "boolean", "jsonPath": ".spec.flag"},
        {"name": "Since", "type": "date", "jsonPath": ".spec.since"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    ]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {
        "type": "object",
        "description": "What a thing is.",
        "properties": {"spec": {**anything, "properties": {"size": {"type": "integer"}}}, "status": anything},
    }
    first = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
        },
        "additionalPrinterColumns": columns,
    }
    others = [
        {"name": name, "served": True, "storage": False, "schema": {"openAPIV3Schema": {**anything}}}
        for name in ("v2beta1", "v10")
    ]
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "shortNames": ["th"], "categories": ["all"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.demo.io"},
        "spec": {"group": "demo.io", "scope": "Namespaced", "names": names, "versions": [first, *others], **changes},
    }


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
