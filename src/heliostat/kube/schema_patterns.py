"""Text rules of schemas: regular expressions as Go reads them, and RFC 3339 times.

A pattern is searched for anywhere in the text. Where the two dialects differ, Go's meaning is kept: ``$`` is the very
end of the text (not before a final newline) and ``\\z`` is written ``\\Z`` here. A pattern that Python cannot read at
all matches everything: refusing a document because of our dialect would be worse.
"""

import re
from functools import lru_cache

_DATE_TIME = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]"
    r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)"
)
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\$|.", re.DOTALL)
_GO_TO_PYTHON = {"$": r"\Z", r"\z": r"\Z"}


def is_match(pattern: str, text: str) -> bool:
    compiled = _compile(pattern)
    return compiled is None or compiled.search(text) is not None


def is_date_time(text: str) -> bool:
    return _DATE_TIME.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> re.Pattern[str] | None:
    translated = "".join(_GO_TO_PYTHON.get(token, token) for token in _TOKEN.findall(pattern))
    try:
        return re.compile(translated)
    except (re.error, OverflowError, RecursionError):
        return None
