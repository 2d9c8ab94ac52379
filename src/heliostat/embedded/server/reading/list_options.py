"""The options of a list, a watch and a get: read from the query, judged together, refused in kube-apiserver's words.

Numbers are read first and refused with 400; options that do not go together are told all at once with 422. What a
resourceVersion means is for whoever serves the request.
"""

from msgspec import Struct

from heliostat.embedded.server.errors import Cause, RefusedError, bad_request, invalid
from heliostat.embedded.server.messages import Request

EXACT, NOT_OLDER = "Exact", "NotOlderThan"
_INT64 = 2**63
_MOST_DIGITS = 40  # beyond, nothing is worth reading: thousands of digits take their time, or are refused by Python
_MATCH = "resourceVersionMatch"


class ListOptions(Struct, frozen=True, kw_only=True):
    version: str = ""  # the resourceVersion as it was given
    match: str = ""
    limit: int = 0
    token: str = ""  # continue
    timeout: int = 0  # seconds; 0: the server's own
    bookmarks: bool = False
    initial_events: bool | None = None  # None: not said


def read_list_options(request: Request, *, is_watch: bool) -> ListOptions:
    has_initial = "sendInitialEvents" in request.query
    options = ListOptions(
        version=request.parameter("resourceVersion"),
        match=request.parameter(_MATCH),
        timeout=read_number(request, "timeoutSeconds"),
        limit=max(read_number(request, "limit"), 0),
        token=request.parameter("continue"),
        bookmarks=request.flag("allowWatchBookmarks"),
        initial_events=request.flag("sendInitialEvents") if has_initial else None,
    )
    causes = _watch_causes(options) if is_watch else _list_causes(options)
    if causes:
        raise invalid("ListOptions", "meta.k8s.io", "", causes)
    return options


def read_revision(text: str) -> int | None:
    """None when nothing was said. What is no number is refused as kube-apiserver's storage does, with a bare 500."""
    if not text:
        return None
    problem = _revision_problem(text)
    if problem:
        raise RefusedError(500, "", problem)
    return int(text)


def read_list_revision(text: str) -> int | None:
    """As ``read_revision``, but a list refuses it as the client's mistake."""
    problem = _revision_problem(text) if text else ""
    if problem:
        raise bad_request(f"invalid resource version: {problem}")
    return read_revision(text)


def _revision_problem(text: str) -> str:
    if text.isascii() and text.isdecimal():
        if len(text) <= _MOST_DIGITS and int(text) < 2 * _INT64:
            return ""
        why = "value out of range"
    else:
        why = "invalid syntax"
    return f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {why}'


def read_number(request: Request, name: str) -> int:
    """0 when nothing was said."""
    if name not in request.query:
        return 0
    text = request.parameter(name)
    digits = text.removeprefix("-").removeprefix("+") if text[:2] not in ("-+", "+-") else ""
    if not (digits.isascii() and digits.isdecimal()):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if len(digits) > _MOST_DIGITS or not -_INT64 <= int(text) < _INT64:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return int(text)


def _list_causes(options: ListOptions) -> list[Cause]:
    causes = []
    if options.match:
        if not options.version:
            causes.append(_forbidden(_MATCH, f"{_MATCH} is forbidden unless resourceVersion is provided"))
        if options.token:
            causes.append(_forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
        if options.match not in (EXACT, NOT_OLDER):
            causes.append(_unsupported(options.match, f'"{EXACT}", "{NOT_OLDER}", ""'))
        if options.match == EXACT and options.version == "0":
            causes.append(_forbidden(_MATCH, f'{_MATCH} "exact" is forbidden for resourceVersion "0"'))
    if options.initial_events is not None:
        causes.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _watch_causes(options: ListOptions) -> list[Cause]:
    causes = []
    if options.initial_events is not None and options.match != NOT_OLDER:
        causes.append(_forbidden(_MATCH, f"sendInitialEvents requires setting {_MATCH} to {NOT_OLDER}"))
    if options.match:
        if options.initial_events is None:
            causes.append(_forbidden(_MATCH, f"{_MATCH} is forbidden for watch unless sendInitialEvents is provided"))
        if options.match != NOT_OLDER:
            causes.append(_unsupported(options.match, f'"{NOT_OLDER}"'))
        if options.token:
            causes.append(_forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
    return causes


def _forbidden(field: str, why: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def _unsupported(given: str, supported: str) -> Cause:
    return Cause("FieldValueNotSupported", f'Unsupported value: "{given}": supported values: {supported}', _MATCH)
