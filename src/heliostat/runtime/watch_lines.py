"""The bytes of lists and watches, decoded into slim objects in one pass.

An object that does not fit its shape is told and left out; it never ends the watch of all the others.
"""

from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from heliostat.kube.objects import Metadata, Object
from heliostat.runtime.errors import ApiError, ExpiredError, RefusedError, error_of
from heliostat.runtime.sharing import Sharing

T = TypeVar("T", bound=Object)

_INITIAL_END = "k8s.io/initial-events-end"


class ObjectLine(Struct, Generic[T], frozen=True):
    """ADDED, MODIFIED or DELETED."""

    type: str
    object: T


class Bookmark(Struct, frozen=True):
    revision: int
    ends_initial: bool


class Misfit(Struct, frozen=True):
    """An object of another shape than the one decided on."""

    type: str
    metadata: Metadata
    problem: str


class BrokenLine(Struct, frozen=True):
    """Not a watch event at all: a stream that was cut off."""

    problem: str


Line: TypeAlias = ObjectLine[T] | Bookmark | Misfit | BrokenLine | ApiError


class Page(Struct, Generic[T], frozen=True):
    items: list[T]
    misfits: list[Misfit]
    revision: int
    continue_token: str


class _ListMetadata(Struct, rename={"resource_version": "resourceVersion", "continue_token": "continue"}):
    resource_version: str = ""
    continue_token: str = ""


class _List(Struct, Generic[T]):
    metadata: _ListMetadata
    items: list[T] | None = None


class _RawLine(Struct):
    type: str
    object: msgspec.Raw


class _StatusObject(Struct):
    code: int = 500


class LineDecoder(Generic[T]):
    def __init__(self, shape: type[T]) -> None:
        self._line: msgspec.json.Decoder[ObjectLine[T]] = msgspec.json.Decoder(ObjectLine[shape])  # type: ignore[valid-type]
        self._list: msgspec.json.Decoder[_List[T]] = msgspec.json.Decoder(_List[shape])  # type: ignore[valid-type]
        self._raw_list = msgspec.json.Decoder(_List[msgspec.Raw])  # type: ignore[type-var]
        self._item = msgspec.json.Decoder(shape)
        self._sharing = Sharing(shape)

    def line(self, data: bytes) -> Line[T]:
        try:
            line = self._line.decode(data)
        except msgspec.ValidationError:
            return self._unusual(data)
        except msgspec.DecodeError as error:
            return BrokenLine(str(error))
        if line.type in ("BOOKMARK", "ERROR"):
            return self._unusual(data)
        self._sharing.share(line.object)
        return line

    def page(self, data: bytes) -> Page[T]:
        misfits: list[Misfit] = []
        try:
            listed = self._list.decode(data)
            metadata, items = listed.metadata, listed.items or []
        except msgspec.ValidationError:
            metadata, items, misfits = self._page_one_by_one(data)
        for item in items:
            self._sharing.share(item)
        return Page(items, misfits, revision_of(metadata.resource_version), metadata.continue_token)

    def _page_one_by_one(self, data: bytes) -> tuple[_ListMetadata, list[T], list[Misfit]]:
        listed: Any = self._raw_list.decode(data)
        items: list[T] = []
        misfits: list[Misfit] = []
        for raw in listed.items or []:
            try:
                items.append(self._item.decode(raw))
            except msgspec.ValidationError as error:
                misfits.append(Misfit("ADDED", _metadata(raw), str(error)))
        return listed.metadata, items, misfits

    def _unusual(self, data: bytes) -> Line[T]:
        raw = msgspec.json.decode(data, type=_RawLine)
        if raw.type == "ERROR":
            return _stream_error(bytes(raw.object))
        metadata = _metadata(raw.object)
        if raw.type == "BOOKMARK":
            ends = metadata.annotations.get(_INITIAL_END) == "true"
            return Bookmark(revision_of(metadata.resource_version), ends)
        try:
            self._item.decode(raw.object)
        except msgspec.ValidationError as error:
            return Misfit(raw.type, metadata, str(error))
        return BrokenLine(f"an event of type {raw.type}")


def revision_of(version: str) -> int:
    """resourceVersions of one server are comparable numbers; anything else counts as no progress."""
    return int(version) if version.isdecimal() else 0


def _metadata(raw: msgspec.Raw) -> Metadata:
    return msgspec.json.decode(raw, type=Object).metadata


def _stream_error(body: bytes) -> ApiError:
    status = msgspec.json.decode(body, type=_StatusObject)
    error = error_of(status.code, body)
    if isinstance(error, RefusedError) and error.reason in ("Expired", "Gone"):
        return ExpiredError(error.code, error.reason, error.message)
    return error
