"""The bytes of lists and watches, decoded into slim objects in one pass.

An object that does not fit its shape is told and left out; it never ends the watch of all the others. What is no list
and no event at all is an ``OtherAnswerError``: a proxy's page, or a Status where an event should be.
"""

from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from heliostat.kube.objects import Metadata, Object, revision_of
from heliostat.runtime.errors import ApiError, ExpiredError, OtherAnswerError, RefusedError, error_of
from heliostat.runtime.sharing import Sharing

T = TypeVar("T", bound=Object)

_INITIAL_END = "k8s.io/initial-events-end"
_SHOWN = 80  # bytes of an answer that nobody asked for
_NOT_JSON = (msgspec.MsgspecError, UnicodeDecodeError)  # or not of the shape that was asked for


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
    message: str = ""


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
            return self._unusual_or_other(data)
        except _NOT_JSON as error:
            return BrokenLine(str(error)) if data.startswith(b"{") else _other_answer(data, error)
        if line.type in ("BOOKMARK", "ERROR"):
            return self._unusual_or_other(data)
        self._sharing.share(line.object)
        return line

    def page(self, data: bytes) -> Page[T]:
        """Raises OtherAnswerError."""
        try:
            metadata, items, misfits = self._page_at_once(data)
        except _NOT_JSON as error:
            raise _other_answer(data, error) from None
        for item in items:
            self._sharing.share(item)
        return Page(items, misfits, revision_of(metadata.resource_version), metadata.continue_token)

    def _page_at_once(self, data: bytes) -> tuple[_ListMetadata, list[T], list[Misfit]]:
        try:
            listed = self._list.decode(data)
        except msgspec.ValidationError:
            return self._page_one_by_one(data)
        return listed.metadata, listed.items or [], []

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

    def _unusual_or_other(self, data: bytes) -> Line[T]:
        try:
            return self._unusual(data)
        except _NOT_JSON as error:
            return _other_answer(data, error)

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


def _metadata(raw: msgspec.Raw) -> Metadata:
    return msgspec.json.decode(raw, type=Object).metadata


def _stream_error(body: bytes) -> ApiError:
    status = msgspec.json.decode(body, type=_StatusObject)
    error = error_of(status.code, body)
    if isinstance(error, RefusedError) and error.reason in ("Expired", "Gone"):
        return ExpiredError(error.code, error.reason, error.message)
    return error


def _other_answer(data: bytes, error: Exception) -> OtherAnswerError:
    return OtherAnswerError(f"the server answered something else: {_show(data) or error}")


def _show(data: bytes) -> str:
    """A page is shown, as its words may say whose it is. Of objects only a Status is: others may hold secrets."""
    if not data.lstrip().startswith((b"{", b"[")):
        return data[:_SHOWN].decode(errors="replace")
    try:
        return msgspec.json.decode(data, type=_StatusObject).message
    except _NOT_JSON:
        return ""
