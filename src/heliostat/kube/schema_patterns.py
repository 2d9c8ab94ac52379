"""Text rules of schemas: regular expressions as Go reads them, and RFC 3339 times.

A pattern is searched for anywhere in the text, in time that grows with the text and never faster: whoever writes a
pattern must not be able to stop the server with it. One that would still take too much work for a text does not match
it. A pattern that we cannot read at all matches everything: refusing a document because of that would be worse.
"""

import re

from heliostat.kube.regex import RegexWorkError, compile_pattern
from heliostat.kube.regex_syntax import RegexError

_DATE_TIME = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]"
    r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)"
)


def is_match(pattern: str, text: str) -> bool:
    try:
        return compile_pattern(pattern).is_found_in(text)
    except RegexError:
        return True
    except RegexWorkError:
        return False


def is_date_time(text: str) -> bool:
    return _DATE_TIME.fullmatch(text) is not None
