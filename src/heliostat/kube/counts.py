"""Counts as people and programs write them into labels, annotations and versions: decimal digits that fit 64 bits.

Anything else is no count: Python reads a thousand digits slowly and refuses more of them with an error of its own.
"""

_MOST_DIGITS = 19
_LARGEST = 2**63 - 1


def read_count(text: str) -> int | None:
    """None for what is no count. A sign is the caller's business."""
    if not (text.isascii() and text.isdecimal()):
        return None
    digits = text.lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS or (value := int(digits)) > _LARGEST:
        return None
    return value


def read_whole(text: str) -> int | None:
    """With a sign or without one. None for what is no whole number, or needs more than 64 bits."""
    count = read_count(text[1:] if text[:1] in ("+", "-") else text)
    return -count if count is not None and text.startswith("-") else count
