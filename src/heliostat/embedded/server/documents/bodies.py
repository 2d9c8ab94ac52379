"""Request bodies into trees, as the content type says, with what a strict reader minds about them.

JSON, YAML and protobuf are read as kube-apiserver reads them: of a key given twice the last one counts and the
repetition is told; half a character becomes the replacement character. What cannot be read is a ``BodyError`` in
kube-apiserver's words; which status it gets is for the caller to say, because objects, options and patches differ.
"""

import json
import math
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.embedded.server.documents.json_syntax import json_problem
from heliostat.embedded.server.errors import unsupported_media_type
from heliostat.embedded.server.limits import DEEPEST_BODY, LARGEST_BODY, is_too_deep, too_large
from heliostat.embedded.server.messages import Request
from heliostat.kube.document_error import DocumentError
from heliostat.kube.jsontree import encode_json
from heliostat.kube.protobuf import ProtobufError, decode_protobuf

JSON_TYPES = ("application/json",)
YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml")
PROTOBUF = "application/vnd.kubernetes.protobuf"  # what kubectl sends when it creates
ACCEPTED = ("application/json", "application/yaml", PROTOBUF)
_YAML_ERRORS = "yaml: unmarshal errors:\n  "
_MOST_DIGITS = 20  # of a whole number, with its sign
_LONGEST_SUMMARY = 30
_TOO_DEEP = "couldn't get version/kind; json parse error: exceeded max depth"

_decoder = msgspec.json.Decoder()


class BodyError(ValueError):
    """A body that cannot be read, in kube-apiserver's words."""


class Body(Struct, frozen=True):
    tree: Any
    strict: tuple[str, ...] = ()  # what is wrong with it for who reads strictly


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "application/json").split(";", 1)[0].strip().lower()


def read_body(request: Request) -> Body:
    """Raises ``BodyError``; a content type that is not spoken and a body that is too large are refused here."""
    kind = media_type(request)
    if len(request.body) > LARGEST_BODY:
        raise too_large()
    if kind in JSON_TYPES or kind == "":
        return read_json(request.body)
    if kind in YAML_TYPES:
        return read_yaml(request.body)
    if kind == PROTOBUF:
        return _read_protobuf(request.body)
    raise unsupported_media_type(ACCEPTED)


def summarize(body: bytes) -> str:
    """The beginning of a body, for a message about it."""
    if not body:
        return "<empty>"
    start = body[:_LONGEST_SUMMARY]
    text = start.decode(errors="replace") if start[:1] == b"{" else start.hex()
    return f"{text} ..." if len(body) > _LONGEST_SUMMARY else text


def strict_warnings(strict: tuple[str, ...]) -> list[str]:
    """What a strict reader would refuse, as warnings: one for each line."""
    return [line.strip() for text in strict for line in text.removeprefix(_YAML_ERRORS).split("\n")]


def read_json(body: bytes) -> Body:
    try:
        tree = _decoder.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _read_broken_json(body)
    could_be_deep = body.count(b"{") + body.count(b"[") > DEEPEST_BODY
    if could_be_deep and is_too_deep(tree):
        raise BodyError(_TOO_DEEP)
    if _has_repeated_keys(tree, body):
        return _read_broken_json(body)
    return Body(tree)


def _has_repeated_keys(tree: Any, body: bytes) -> bool:
    """By counting, which is quick; a text that only looks so is read once more."""
    return body.count(b'":') + body.count(b'" :') > encode_json(tree).count(b'":')


def _read_broken_json(body: bytes) -> Body:
    """What the fast decoder minds and Go's does not: keys given twice and halves of characters."""
    problem = json_problem(body)
    if problem:
        raise BodyError(f"couldn't get version/kind; json parse error: {problem}")
    try:
        marked = _lenient.decode(body.decode(errors="replace"))
    except RecursionError:
        raise BodyError(_TOO_DEEP) from None
    if is_too_deep(marked):
        raise BodyError(_TOO_DEEP)
    repeated: list[str] = []
    return Body(_unmark(marked, "", repeated), tuple(f'duplicate field "{path}"' for path in repeated))


class _Pairs(list[Any]):
    """The fields of an object as they stand in the text."""


def _read_number(text: str) -> int | float:
    """As Go does: what no 64 bits hold is a fraction, and what not even that holds is no number."""
    if len(text) <= _MOST_DIGITS and -(2**63) <= (whole := int(text)) < 2**63:
        return whole
    return _read_fraction(text)


def _read_fraction(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        problem = f"cannot unmarshal number {text[:_LONGEST_SUMMARY]} into Go value of type float64"
        raise BodyError(f"couldn't get version/kind; json parse error: json: {problem}")
    return value


_lenient = json.JSONDecoder(object_pairs_hook=_Pairs, parse_int=_read_number, parse_float=_read_fraction)


def _unmark(value: Any, path: str, repeated: list[str]) -> Any:
    if isinstance(value, _Pairs):
        tree: dict[str, Any] = {}
        for name, child in value:
            key = _whole_characters(name)
            here = f"{path}.{key}" if path else key
            if key in tree:
                repeated.append(here)
            tree[key] = _unmark(child, here, repeated)
        return tree
    if isinstance(value, list):
        return [_unmark(child, f"{path}[{index}]", repeated) for index, child in enumerate(value)]
    return _whole_characters(value) if isinstance(value, str) else value


def _whole_characters(text: str) -> str:
    """Half of a surrogate pair is no character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_yaml(body: bytes) -> Body:
    """The first document; None for a text without any."""
    from heliostat.embedded.server.documents.lenient_yaml import LenientComposer  # noqa: PLC0415  1 MB that few servers need

    try:
        composer = LenientComposer(body.decode(), "body")
        tree = next(composer.documents(), None)
    except DocumentError as error:
        raise BodyError(f"yaml: {_yaml_words(error)}") from None
    except UnicodeDecodeError:
        raise BodyError("yaml: control characters are not allowed") from None
    return Body(tree, (_YAML_ERRORS + "\n  ".join(composer.repeated),) if composer.repeated else ())


def _yaml_words(error: DocumentError) -> str:
    """Go's reader counts lines from 0 where it parses and from 1 where it scans, and leaves the first one out."""
    problem, parses, _context = error.problem.partition(" while parsing")
    problem = problem.partition(" while scanning")[0]
    line = error.line - 1
    if not line:
        return problem
    return f"line {line if parses else line + 1}: {problem}"


def _read_protobuf(body: bytes) -> Body:
    try:
        return Body(decode_protobuf(body))
    except ProtobufError as error:
        raise BodyError("unexpected EOF" if "cut short" in str(error) else str(error)) from None
