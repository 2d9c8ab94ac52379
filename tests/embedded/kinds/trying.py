"""Put a case to a server, whichever it is, and give the last answer."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct

from embedded.kinds.caution_cases import NAMESPACE, Case, Told, Tree
from embedded.kinds.exchange import JSON
from heliostat.kube.core_schema import kinds

MERGE = "application/merge-patch+json"


class Sent(Struct, frozen=True):
    method: str
    path: str  # with its query
    body: Tree
    content_type: str = JSON


def _named_kind(path: str) -> Tree:
    api_version = path.removeprefix("/apis/").removeprefix("/api/").partition("/namespaces/")[0]
    api_version, plural = api_version.removesuffix(f"/{path.rpartition('/')[2]}"), path.rpartition("/")[2]
    found = [kind for kind in kinds() if (kind.api_version, kind.plural) == (api_version, plural)]
    return {"apiVersion": api_version, "kind": found[0].kind}


Send: TypeAlias = Callable[[Sent], Awaitable[Told]]


async def try_out(case: Case, send: Send) -> Told:
    path, body = case.path.replace("NS", NAMESPACE), {**_named_kind(case.path), **case.body}
    if case.change is None:
        return await send(Sent("POST", f"{path}?dryRun=All", body))
    made = await send(Sent("POST", path, body))
    assert made.status == 201, (case.name, made)
    at = f"{path}/{case.body['metadata']['name']}{'/' if case.subresource else ''}{case.subresource}"
    return await send(Sent("PATCH", f"{at}?dryRun=All", case.change, MERGE))
