"""What differs between two specs, as the lines that a refused update shows.

Differs from kube-apiserver: the fields have the names of the API instead of those of its inner types.
"""

import json
from typing import Any

_CONTEXT = 3


def describe_difference(old: Any, new: Any) -> str:
    import difflib  # noqa: PLC0415  only a refusal needs it

    before, after = (json.dumps(tree, indent=1, sort_keys=True).splitlines() for tree in (old, new))
    lines = difflib.unified_diff(before, after, lineterm="", n=_CONTEXT)
    return "".join(f"{line}\n" for line in list(lines)[2:])
