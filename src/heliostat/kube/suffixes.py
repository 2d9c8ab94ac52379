"""Name suffixes that look random and are not: five characters of a hash of what the name is for.

The same facts give the same name, so a repeated create collides with the first one instead of doubling it.
"""

import hashlib

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: no words; no 0, 1, 3: nothing to mistake
SUFFIX_LENGTH = 5


def derive_suffix(*facts: str) -> str:
    digest = hashlib.sha256("\0".join(facts).encode()).digest()
    number = int.from_bytes(digest[:8], "big")
    characters = []
    for _ in range(SUFFIX_LENGTH):
        number, index = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[index])
    return "".join(characters)
