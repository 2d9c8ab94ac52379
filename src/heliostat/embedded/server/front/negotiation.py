"""In which form an answer is wanted: JSON or YAML, the object itself, a Table or metadata alone, indented or not.

Rules: of what the Accept header offers, the first that can be served wins, by quality, then by order; a client that
accepts nothing of it gets 406. Protobuf is not spoken: who offers it beside JSON gets JSON. People with a browser or
curl get indented JSON.
"""

from functools import lru_cache

from msgspec import Struct

from heliostat.embedded.server.errors import RefusedError, bad_request
from heliostat.embedded.server.messages import JSON, Request
from heliostat.embedded.server.tables.table import INCLUDES, METADATA

YAML = "application/yaml"
SPOKEN = (JSON, YAML)
STREAMED = f"{JSON};stream=watch"

TABLE, PARTIAL, PARTIAL_LIST = "Table", "PartialObjectMetadata", "PartialObjectMetadataList"

_ANYTHING = "*/*"
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_META_GROUP = "meta.k8s.io"
_META_VERSIONS = ("v1", "v1beta1")
_PEOPLES_AGENTS = ("curl", "Wget", "Mozilla/5.0")
_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_LONGEST_ACCEPT = 4096


class Form(Struct, frozen=True):
    media: str = JSON
    transform: str = ""  # the kind that the object is wanted as; empty: its own
    version: str = "v1"  # of that kind
    pretty: bool = False
    include: str = METADATA  # what rows of a table carry

    @property
    def is_plain(self) -> bool:
        """The answer is what the handler made already."""
        return self.media == JSON and not self.transform and not self.pretty


class Clause(Struct, frozen=True):
    """One part of an Accept header."""

    media: str
    parameters: dict[str, str]


PLAIN = Form()


def read_form(request: Request, *, is_watch: bool = False) -> Form:
    """The form of an answer about a resource; refuses what cannot be served (406) or understood (400)."""
    accept = request.headers.get("accept", "")
    pretty = is_pretty(request)
    if accept in ("", JSON, _ANYTHING):
        return Form(pretty=True) if pretty else PLAIN
    form = _choose(accept, is_watch=is_watch)
    if form.transform != TABLE and not pretty:
        return form
    include = _read_include(request) if form.transform == TABLE else METADATA
    return Form(form.media, form.transform, form.version, form.pretty or pretty, include)


def is_pretty(request: Request) -> bool:
    given = request.parameter("pretty")
    return given in _TRUE if given else request.headers.get("user-agent", "").startswith(_PEOPLES_AGENTS)


def accepts(request: Request, media: str) -> bool:
    """Whether the client takes this media type, whatever its parameters; who says nothing takes anything."""
    clauses = parse_accept(request.headers.get("accept", ""))
    return not clauses or any(clause.media in (media, _ANYTHING) for clause in clauses)


def error_media(request: Request) -> str:
    """Errors come in YAML to who wants nothing but YAML, else in JSON."""
    clauses = parse_accept(request.headers.get("accept", ""))
    return YAML if clauses and all(clause.media == YAML for clause in clauses) else JSON


@lru_cache(maxsize=256)
def _choose(accept: str, *, is_watch: bool) -> Form:
    clauses = parse_accept(accept)
    if not any(clause.media in (*SPOKEN, _PROTOBUF, _ANYTHING) for clause in clauses):
        offered = ", ".join(SPOKEN)
        message = f"406: Not Acceptable\n\nAvailable representations: {offered}"
        raise RefusedError(406, "NotAcceptable", message, details={})
    for clause in clauses:
        form = _serve_as(clause)
        if form is not None and not (is_watch and form.media != JSON):
            return form
    offered = STREAMED if is_watch else ", ".join(SPOKEN)
    raise not_acceptable(f"only the following media types are accepted: {offered}")


def not_acceptable(message: str) -> RefusedError:
    return RefusedError(406, "NotAcceptable", message)


def _serve_as(clause: Clause) -> Form | None:
    if clause.media not in (*SPOKEN, _ANYTHING):
        return None
    media = JSON if clause.media == _ANYTHING else clause.media
    pretty = clause.parameters.get("pretty") in _TRUE
    transform = clause.parameters.get("as", "")
    if not transform:
        return Form(media, pretty=pretty)
    version = clause.parameters.get("v", "")
    known = transform in (TABLE, PARTIAL, PARTIAL_LIST) and version in _META_VERSIONS
    if not known or clause.parameters.get("g") != _META_GROUP:
        return None
    return Form(media, transform, version, pretty)


@lru_cache(maxsize=256)
def parse_accept(accept: str) -> tuple[Clause, ...]:
    """The clauses, best first; a header beyond all reason is cut off."""
    rated = [_read_clause(part) for part in accept[:_LONGEST_ACCEPT].split(",") if part.strip()]
    rated.sort(key=lambda pair: -pair[0])
    return tuple(clause for _quality, clause in rated)


def _read_clause(part: str) -> tuple[float, Clause]:
    media, *rest = part.split(";")
    pairs = (parameter.partition("=") for parameter in rest)
    parameters = {key.strip(): value.strip() for key, _, value in pairs}
    return _read_quality(parameters.pop("q", "1")), Clause(media.strip().lower(), parameters)


def _read_quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def _read_include(request: Request) -> str:
    given = request.parameter("includeObject") or METADATA
    if given not in INCLUDES:
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{given}": must be'
            " 'Metadata', 'Object', 'None', or empty"
        )
    return given
