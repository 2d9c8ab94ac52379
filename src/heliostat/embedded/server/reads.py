"""Get and list: bodies as they are kept, put together without decoding them.

Rules: no resourceVersion means the newest; ``0`` means any, and the newest is at hand; a number means not older
than that, or exactly that with resourceVersionMatch=Exact; a continue token goes on at the revision of the first
page.
"""

import base64

import msgspec
from msgspec import Struct

from heliostat.embedded.server.errors import RefusedError, bad_request, expired, not_found
from heliostat.embedded.server.events_conversion import to_served
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.selection import Selection, read_selection
from heliostat.embedded.storage.errors import CompactedError, FutureRevisionError
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.records import Record
from heliostat.embedded.storage.revisions import Page
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject, encode_json

_CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without"
    " the continue parameter, or use the continue token in this response to retrieve the remainder of the results."
    " Continuing with the provided token results in an inconsistent list - objects that were created, modified, or"
    " deleted between the time the first chunk was returned and now may show up in the list."
)


class Continue(Struct, frozen=True, rename={"version": "v", "revision": "rv"}):
    version: str
    revision: int
    start: str


class Listed(Struct, frozen=True):
    page: Page
    selection: Selection
    is_custom: bool = False

    @property
    def list_meta(self) -> JsonObject:
        meta: JsonObject = {"resourceVersion": str(self.page.revision)}
        if self.is_custom:
            meta["continue"] = ""  # kube-apiserver writes it for custom resources, empty or not
        if self.page.after is not None:
            meta["continue"] = _write_continue(self.page.revision, self.page.after)
            if self.selection.is_everything:
                meta["remainingItemCount"] = self.page.remaining
        return meta


def find_record(store: Store, resource: Resource, namespace: str, name: str) -> Record:
    record = store.get(Key(resource.storage_name, namespace, name))
    if record is None:
        raise not_found(resource.plural, resource.group, name)
    return record


def as_served(body: bytes, resource: Resource) -> bytes:
    """The kept body under the apiVersion that was asked for."""
    if resource.storage_version == resource.api_version:
        return body
    return encode_json(to_served(msgspec.json.decode(body), resource))


def read_revision(request: Request, name: str = "resourceVersion") -> int | None:
    text = request.parameter(name)
    if not text:
        return None
    if not text.isdecimal():
        raise RefusedError(
            400, "BadRequest", f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


async def list_page(store: Store, resource: Resource, namespace: str, request: Request) -> Listed:
    selection = read_selection(request, resource)
    scope = Scope(resource.storage_name, namespace, selection.name)
    limit = _read_limit(request)
    token = request.parameter("continue")
    revision, match = read_revision(request), request.parameter("resourceVersionMatch")
    _check_match(revision, match, token)
    try:
        if token:
            start = _read_continue(token)
            after = Key(resource.storage_name, *_split_path(start.start))
            page = store.page(scope, at=start.revision, after=after, limit=limit, matches=selection.filter)
        else:
            at = revision if match == "Exact" else None
            if revision and match != "Exact":
                await wait_until(store, revision)
            page = store.page(scope, at=at, limit=limit, matches=selection.filter)
    except CompactedError as error:
        if token:
            raise expired(_CONTINUE_EXPIRED) from None
        raise expired(
            f"The resourceVersion for the provided list is too old: {error.requested} ({error.oldest})"
        ) from None
    except FutureRevisionError as error:
        raise too_large(error.requested, error.current) from None
    return Listed(page, selection, resource.is_custom)


async def wait_until(store: Store, revision: int) -> None:
    """A revision from the future is refused: every revision this server gave out is visible already."""
    if revision > store.revision:
        raise too_large(revision, store.revision)


def too_large(wanted: int, current: int) -> RefusedError:
    details = {"retryAfterSeconds": 1}
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return RefusedError(504, "Timeout", message, details=details)


def build_list(listed: Listed, resource: Resource) -> bytes:
    head = encode_json({
        "kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": listed.list_meta,
    })  # fmt: skip
    return head[:-1] + b',"items":[' + b",".join(_items(listed.page.records, resource)) + b"]}"


def _items(records: list[Record], resource: Resource) -> list[bytes]:
    """Items of a built-in kind go without kind and apiVersion, which the list says for all of them."""
    if resource.is_custom:
        return [as_served(record.body, resource) for record in records]
    if resource.storage_version != resource.api_version:
        return [_converted_item(record, resource) for record in records]
    cut = len(resource.item_prefix)
    return [b"{" + record.body[cut:] for record in records]


def _converted_item(record: Record, resource: Resource) -> bytes:
    tree = to_served(msgspec.json.decode(record.body), resource)
    return encode_json({key: value for key, value in tree.items() if key not in ("kind", "apiVersion")})


def _read_limit(request: Request) -> int:
    text = request.parameter("limit", "0")
    try:
        return max(int(text), 0)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _check_match(revision: int | None, match: str, token: str) -> None:
    problem = ""
    if match and revision is None:
        problem = "resourceVersionMatch is forbidden unless resourceVersion is provided"
    elif match and token:
        problem = "resourceVersionMatch is forbidden when continue is provided"
    elif match not in ("", "Exact", "NotOlderThan"):
        problem = f'supported values: "Exact", "NotOlderThan", ""; got "{match}"'
    elif match == "Exact" and revision == 0:
        problem = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
    elif token and revision:
        problem = "specifying resource version is not allowed when using continue"
    if problem:
        raise bad_request(problem)


def _write_continue(revision: int, after: Key) -> str:
    token = encode_json({"v": "meta.k8s.io/v1", "rv": revision, "start": f"{after.path}\0"})
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def _read_continue(token: str) -> Continue:
    try:
        padded = token + "=" * (-len(token) % 4)
        start = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=Continue)
    except (ValueError, msgspec.DecodeError):
        raise bad_request("continue key is not valid: malformed value") from None
    if start.version != "meta.k8s.io/v1" or not start.start.endswith("\0"):
        raise bad_request("continue key is not valid: incorrect encoded start resourceVersion (version)")
    return start


def _split_path(start: str) -> tuple[str, str]:
    namespace, slash, name = start.removesuffix("\0").rpartition("/")
    return (namespace, name) if slash else ("", name)
