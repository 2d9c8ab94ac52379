"""How a field of an object is named in a rule, where names are letters, digits and underscores.

``.`` ``-`` ``/`` and ``__`` become words between double underscores, and so does a field named like a keyword (which
may also be written as it is). A field with other characters has no name: rules cannot see it.
"""

import re

from heliostat.embedded.cel.parser import RESERVED

KEYWORDS = RESERVED | {"true", "false", "null", "in"}
_WORDS = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_SPECIAL = re.compile(r"__|[-./]")
_NAMEABLE = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")


def escape_field(field: str) -> str | None:
    if field in KEYWORDS:
        return f"__{field}__"
    if _NAMEABLE.fullmatch(field) is None:
        return None
    return _SPECIAL.sub(lambda found: _WORDS[found[0]], field)
