"""A YAML text as a stream of parser events, with every failure of the parser told as line, column, problem and fix.

libyaml does the parsing; PyYAML's own parser stands in where PyYAML was built without it.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from yaml.error import MarkedYAMLError, YAMLError
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.scanner import Scanner, ScannerError

from heliostat.kube.document_error import DocumentError

try:
    from yaml._yaml import CParser
except ImportError:
    CParser = None  # type: ignore[assignment,misc]

# Events are duck-typed: the two parsers give the same classes with marks of their own.
NextEvent: TypeAlias = Callable[[], Any]


class PureParser(Reader, Scanner, Parser):
    """PyYAML's parser in Python: the same events, slower."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


def open_events(text: str, *, pure: bool = CParser is None) -> NextEvent:
    """A function that gives the next event. It and this one raise ``YAMLError``, which ``explain`` turns into words."""
    return PureParser(text).get_event if pure else CParser(text).get_event


# What helps, by a fragment of the parser's words; the first that fits.
_ADVICE = (
    ("control characters", "remove the character, or write it as an escape in double quotes"),
    ("special characters", "remove the character, or write it as an escape in double quotes"),
    ("unexpected end of stream", "close the quote, or check whether the file was cut off"),
    ("cannot start any token", "indent with spaces, not tabs, and quote text that begins with @, `, % or a tab"),
    ("mapping values are not allowed", "quote the text if it contains ': ', or check the indentation of this line"),
    ("expected ',' or", "close the bracket, or check whether the file was cut off"),
    ("expected key", "check the indentation of this line, and quotes that were closed too early"),
    ("'-' indicator", "check the indentation of the list"),
    ("block sequence entries are not allowed", "put the list on its own line below its key"),
    ("escape", "double the backslash, or use single quotes"),
    ("could not find expected ':'", "write a colon and a space after the key"),
    ("incompatible YAML", "remove the %YAML line"),
)
_GENERAL_ADVICE = "check the indentation, quotes and brackets here and just above"


def explain(error: YAMLError, text: str, source: str) -> DocumentError:
    """The parser's complaint as line, column, problem and fix."""
    if isinstance(error, ReaderError):
        at = _character_offset(error, text)
        line, column, problem = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at), error.reason
    elif isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        line, column = error.problem_mark.line + 1, error.problem_mark.column + 1
        problem = _describe(error)
    else:
        line, column, problem = 1, 1, str(error)
    fix = next((fix for fragment, fix in _ADVICE if fragment in problem), _GENERAL_ADVICE)
    return DocumentError(source, line, column, problem, fix, told_by_go=_tell_like_go(error))


def _tell_like_go(error: YAMLError) -> str:
    """Go's parser is libyaml, too. It counts lines from 0, except in its scanner, and leaves out a line 0."""
    if not isinstance(error, MarkedYAMLError):
        return error.reason if isinstance(error, ReaderError) else str(error)
    problem, line = error.problem or "unknown problem parsing YAML content", 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + isinstance(error, ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    return f"line {line}: {problem}" if line else problem


def _character_offset(error: ReaderError, text: str) -> int:
    """libyaml counts bytes of UTF-8, PyYAML's reader characters."""
    position: int = error.position
    return position if error.encoding == "unicode" else len(text.encode()[:position].decode(errors="ignore"))


def _describe(error: MarkedYAMLError) -> str:
    problem = error.problem or "this is not YAML"
    if error.context is None or error.context_mark is None or "next token" in error.context:
        return problem
    return f"{problem} {error.context} that begins in line {error.context_mark.line + 1}"
