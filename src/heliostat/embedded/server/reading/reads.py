"""Get and list: bodies as they are kept, put together without decoding them.

Rules: no resourceVersion means the newest; ``0`` means any, and the newest is at hand; a number means not older
than that, or exactly that with resourceVersionMatch=Exact; a continue token goes on at the revision of the first
page.
"""

import msgspec
from msgspec import Struct

from heliostat.embedded.server.documents.conversions import to_served
from heliostat.embedded.server.errors import Cause, RefusedError, bad_request, expired, not_found
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.reading.continue_tokens import ANY, key_before, read_continue, write_continue
from heliostat.embedded.server.reading.list_options import (
    EXACT,
    ListOptions,
    read_list_options,
    read_list_revision,
    read_revision,
)
from heliostat.embedded.server.reading.selection import Selection, read_selection
from heliostat.embedded.server.resources import Resource
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
            meta["continue"] = write_continue(self.page.revision, self.page.after)
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


async def list_page(store: Store, resource: Resource, namespace: str, request: Request) -> Listed:
    options = read_list_options(request, is_watch=False)
    selection = read_selection(request, resource)
    scope = Scope(resource.storage_name, namespace, selection.name)
    try:
        page = _continued_page(store, scope, options, selection) if options.token else None
        if page is None:
            page = _first_page(store, scope, options, selection)
    except CompactedError:
        raise expired("The resourceVersion for the provided list is too old.") from None
    except FutureRevisionError as error:
        raise too_large(error.requested, error.current, retry_after=0) from None
    return Listed(page, selection, resource.is_custom)


def _first_page(store: Store, scope: Scope, options: ListOptions, selection: Selection) -> Page:
    """Any state will do for revision 0, and then the whole of it: it is at hand."""
    revision = read_list_revision(options.version)
    if options.match == EXACT:
        return store.page(scope, at=revision, limit=options.limit, matches=selection.filter)
    if revision:
        check_known(store, revision)
    limit = 0 if revision == 0 else options.limit
    return store.page(scope, limit=limit, matches=selection.filter)


def _continued_page(store: Store, scope: Scope, options: ListOptions, selection: Selection) -> Page:
    if options.version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    start = read_continue(options.token)
    after = key_before(start, scope.resource)
    at = None if start.revision == ANY else start.revision
    try:
        return store.page(scope, at=at, after=after, limit=options.limit, matches=selection.filter)
    except CompactedError:
        refused = expired(_CONTINUE_EXPIRED)
        refused.list_meta = {"continue": write_continue(ANY, after)}
        raise refused from None


def find_version(store: Store, resource: Resource, namespace: str, name: str, version: str) -> Record:
    """The object, not older than the version that was asked for."""
    revision = read_revision(version)
    if revision:
        check_known(store, revision)
    return find_record(store, resource, namespace, name)


def check_known(store: Store, revision: int) -> None:
    """A revision from the future is refused: every revision this server gave out is visible already."""
    if revision > store.revision:
        raise too_large(revision, store.revision)


def too_large(wanted: int, current: int, *, retry_after: int = 1) -> RefusedError:
    details = {"retryAfterSeconds": retry_after} if retry_after else {}
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    cause = Cause("ResourceVersionTooLarge", "Too large resource version", "")
    return RefusedError(504, "Timeout", message, details=details, causes=[cause])


def build_list(listed: Listed, resource: Resource) -> bytes:
    """Every body is copied once: what stands around the items is written into the first and the last of them."""
    head = encode_json({
        "kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": listed.list_meta,
    })  # fmt: skip
    start, end = head[:-1] + b',"items":[', b"]}"
    items, opening = _items(listed.page.records, resource)
    if not items:
        return start + end
    items[0] = b"".join((start, opening, items[0]))
    items[-1] = b"".join((items[-1], end))
    return (b"," + opening).join(items)


def _items(records: list[Record], resource: Resource) -> tuple[list[bytes | memoryview], bytes]:
    """The items without their opening, and the opening, which is the same for all of them.

    Those of a built-in kind go without kind and apiVersion, which the list says for all of them.
    """
    if resource.is_custom:
        return [as_served(record.body, resource) for record in records], b""
    if resource.storage_version != resource.api_version:
        return [_converted_item(record, resource) for record in records], b""
    cut = len(resource.item_prefix)
    return [memoryview(record.body)[cut:] for record in records], b"{"


def _converted_item(record: Record, resource: Resource) -> bytes:
    tree = to_served(msgspec.json.decode(record.body), resource)
    return encode_json({key: value for key, value in tree.items() if key not in ("kind", "apiVersion")})
