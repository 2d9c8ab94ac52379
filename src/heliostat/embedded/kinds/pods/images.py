"""How an image is pulled when nobody says: always if it is the latest, else only when the node lacks it.

An image without tag and digest means ``latest``. A name that is no image reference at all counts as having another tag.
"""

import re
from functools import lru_cache

_WORD = "[a-z0-9]+(?:(?:[.]|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_HOST}(?:[.]{_HOST})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_REFERENCE = re.compile(
    rf"(?:(?P<domain>{_DOMAIN})/)?(?P<path>{_WORD}(?:/{_WORD})*)(?::(?P<tag>[\w][\w.-]{{0,127}}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_ONLY_A_DIGEST = re.compile("[a-f0-9]{64}")


@lru_cache(maxsize=1024)
def pull_policy(image: str) -> str:
    found = _REFERENCE.fullmatch(image)
    if found is None or _ONLY_A_DIGEST.fullmatch(image):
        return "IfNotPresent"
    tag = found["tag"] or ("" if found["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"
