"""An answer in the form that was asked for: Tables, metadata alone, YAML, indented JSON.

The handlers answer with the object as it is kept; what is wanted otherwise is made from that here, in one place for
every verb. A Status is never turned into anything else. Watches are rendered event by event, and long lists in
pieces, between which others have their turn.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias, TypedDict, cast

import msgspec
from msgspec import Struct

from heliostat.embedded.server.errors import RefusedError
from heliostat.embedded.server.front.negotiation import (
    PARTIAL,
    PARTIAL_LIST,
    TABLE,
    YAML,
    Form,
    error_media,
    is_pretty,
    not_acceptable,
)
from heliostat.embedded.server.messages import JSON, Answer, Request, Response
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.tables.table import TablePrinter, build_partial
from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.kube.yaml_text import encode_yaml

# From the JSON of an object, as it is kept, to the JSON that a watch sends of it.
WatchedObject: TypeAlias = Callable[[bytes], bytes]

_AT_ONCE = 50  # objects; a Pod of 4 kB takes a tenth of a millisecond


class _Kind(Struct):
    kind: str = ""


class _Outline(TypedDict):
    metadata: JsonObject


# Nothing else of an object is taken apart for its metadata: a watch of definitions would fill 3 MB with each.
_outline_decoder = msgspec.json.Decoder(_Outline)


class _Listed(Struct):
    """A list whose items are still to be decoded."""

    metadata: JsonObject
    items: list[msgspec.Raw]


async def render(answer: Answer, form: Form, resource: Resource, now: float) -> Answer:
    """The answer of a handler in the wanted form; streams have theirs already."""
    if form.is_plain or not isinstance(answer, Response) or answer.content_type != JSON:
        return answer
    kind = msgspec.json.decode(answer.body, type=_Kind).kind
    if not form.transform or kind == "Status":
        tree = msgspec.json.decode(answer.body)
    elif kind == resource.list_kind:
        tree = await _transform_list(answer.body, form, resource, now)
    else:
        tree = _transform(answer.body, form, resource, now)
    return in_media(answer, tree, form)


def render_refusal(response: Response, request: Request) -> Response:
    form = Form(error_media(request), pretty=is_pretty(request))
    return response if form.is_plain else in_media(response, msgspec.json.decode(response.body), form)


def watched_object(form: Form, resource: Resource, now: Callable[[], float]) -> WatchedObject | None:
    """How the objects of one watch are rendered; None: as they are. Headings come with the first object alone."""
    if form.transform == TABLE:
        return _table_events(form, resource, now)
    if form.transform == PARTIAL:
        return lambda body: encode_json(_partial(body, form))
    if form.transform == PARTIAL_LIST:
        raise _wrong_number(resource, form, is_list=False)
    return None


def _table_events(form: Form, resource: Resource, now: Callable[[], float]) -> WatchedObject:
    printer = TablePrinter(resource, resource.kind, form.version, form.include)
    headings = True

    def render_event(body: bytes) -> bytes:
        nonlocal headings
        table = printer.build_table_of_one(msgspec.json.decode(body), now(), headings=headings)
        headings = False
        return encode_json(table)

    return render_event


def _transform(body: bytes, form: Form, resource: Resource, now: float) -> JsonObject:
    if form.transform == TABLE:
        tree = msgspec.json.decode(body)
        return TablePrinter(resource, tree["kind"], form.version, form.include).build_table_of_one(tree, now)
    if form.transform == PARTIAL_LIST:
        raise _wrong_number(resource, form, is_list=False)
    return _partial(body, form)


def _partial(body: bytes | msgspec.Raw, form: Form) -> JsonObject:
    return build_partial(cast("JsonObject", _outline_decoder.decode(body)), f"meta.k8s.io/{form.version}")


async def _transform_list(body: bytes, form: Form, resource: Resource, now: float) -> JsonObject:
    if form.transform == PARTIAL:
        raise _wrong_number(resource, form, is_list=True)
    listed = msgspec.json.decode(body, type=_Listed)
    if form.transform == TABLE:
        printer = TablePrinter(resource, resource.kind, form.version, form.include)
        rows = await _in_pieces(listed.items, lambda raw: printer.build_row(msgspec.json.decode(raw), now))
        return printer.build_table(rows, {key: value for key, value in listed.metadata.items() if value != ""})
    partials = await _in_pieces(listed.items, lambda raw: _partial(raw, form))
    return {
        "kind": PARTIAL_LIST,
        "apiVersion": f"meta.k8s.io/{form.version}",
        "metadata": listed.metadata,
        "items": partials,
    }


async def _in_pieces(items: list[msgspec.Raw], build: Callable[[msgspec.Raw], JsonObject]) -> list[JsonObject]:
    built: list[JsonObject] = []
    for start in range(0, len(items), _AT_ONCE):
        built += [build(raw) for raw in items[start : start + _AT_ONCE]]
        await asyncio.sleep(0)
    return built


def _wrong_number(resource: Resource, form: Form, *, is_list: bool) -> RefusedError:
    package = resource.definition.split(".", 1)[0] if resource.definition else "unstructured"
    kind = f"{resource.kind if resource.definition else 'Unstructured'}{'List' if is_list else ''}"
    what = f"{'' if is_list else 'not '}a list (*{package}.{kind})"
    return not_acceptable(f"you requested {form.transform}, but the requested object is {what}")


def in_media(response: Response, tree: Any, form: Form) -> Response:
    """The response with this tree as its body, as YAML or as JSON."""
    if form.media == YAML:
        body = encode_yaml(_sorted(tree)).encode()
    else:
        body = msgspec.json.format(encode_json(tree), indent=2) if form.pretty else encode_json(tree)
    return msgspec.structs.replace(response, body=body, content_type=form.media)


def _sorted(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _sorted(tree[key]) for key in sorted(tree)}
    return [_sorted(item) for item in tree] if isinstance(tree, list) else tree
