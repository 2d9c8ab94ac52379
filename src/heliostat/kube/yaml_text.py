"""Readable block YAML of a JSON tree, which every reader understands in the same way.

Rules: key order is kept; lists stand at the level of their key; text of several lines is a literal block; text that
some reader would take for a number, a boolean, a date or syntax is quoted. Reading it back gives the same tree.
"""

import json
import re
from typing import Any

from heliostat.kube.yaml_scalars import ScalarError, resolve_plain

_LONGEST_SIMPLE_KEY = 128  # readers look only so far ahead for the colon

# Patterns are compiled when first used: most programs that import this never write YAML.
# Text that may stand without quotes: no syntax at its start, no ": " or " #" inside, no space at its ends.
_PLAIN = r"(?:--?(?=[A-Za-z0-9])|[A-Za-z0-9_/.$])(?:[!-\"$-9;-~]|:(?=[!-~])|#| (?=[!\"$-~]))*"
# Text that YAML 1.1 readers other than kubectl take for something else: dates, times in base 60.
_ELSEWHERE = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*|[-+]?[0-9][0-9_]*(?::[0-9]{1,2})+(?:\.[0-9_]*)?"
# Characters that a quoted text must escape beyond those of JSON, and line breaks of YAML that are none elsewhere.
_UNPRINTABLE = r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
_NOT_IN_BLOCKS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"


def encode_yaml(tree: Any) -> str:
    """One document without ``---``, ending with a newline."""
    lines: list[str] = []
    if isinstance(tree, dict) and tree:
        _write_entries(lines, tree, "", "")
    elif isinstance(tree, list) and tree:
        _write_items(lines, tree, "", "")
    else:
        lines.append(_scalar(tree, "  "))
    return "\n".join(lines) + "\n"


def _write_entries(lines: list[str], mapping: dict[str, Any], indent: str, lead: str) -> None:
    """``lead`` stands before the first key: the indent, or the dash of the list item that the mapping is."""
    for key, value in mapping.items():
        _write_value(lines, lead + _key(key, indent), value, indent)
        lead = indent


def _write_value(lines: list[str], lead: str, value: Any, indent: str) -> None:
    if isinstance(value, dict) and value:
        lines.append(lead)
        _write_entries(lines, value, indent + "  ", indent + "  ")
    elif isinstance(value, list) and value:
        lines.append(lead)
        _write_items(lines, value, indent, indent)
    else:
        lines.append(f"{lead} {_scalar(value, indent + '  ')}")


def _write_items(lines: list[str], items: list[Any], indent: str, lead: str) -> None:
    inner = indent + "  "
    for item in items:
        if isinstance(item, dict) and item:
            _write_entries(lines, item, inner, lead + "- ")
        elif isinstance(item, list) and item:
            _write_items(lines, item, inner, lead + "- ")
        else:
            lines.append(f"{lead}- {_scalar(item, inner)}")
        lead = indent


def _key(key: str, indent: str) -> str:
    text = key if _is_plain(key) else _quoted(key)
    return f"{text}:" if len(text) <= _LONGEST_SIMPLE_KEY else f"? {text}\n{indent}:"


def _scalar(value: Any, indent: str) -> str:
    if isinstance(value, str):
        return _text(value, indent)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    return str(value) if isinstance(value, int) else json.dumps(value)


def _float(value: float) -> str:
    """With a point, which some readers need before an exponent."""
    text = repr(value)
    if text.lstrip("-") in ("inf", "nan"):
        raise ValueError(f"{text} has no JSON form")
    return text.replace("e", ".0e") if "." not in text else text


def _text(text: str, indent: str) -> str:
    if "\n" in text and _fits_block(text):
        return _block(text, indent)
    return text if _is_plain(text) else _quoted(text)


def _is_plain(text: str) -> bool:
    if not re.fullmatch(_PLAIN, text) or re.fullmatch(_ELSEWHERE, text):
        return False
    try:
        return isinstance(resolve_plain(text), str)
    except ScalarError:
        return False


def _quoted(text: str) -> str:
    return re.sub(_UNPRINTABLE, lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _fits_block(text: str) -> bool:
    """The first line sets the indentation, and blank ends are where readers disagree."""
    body = text.rstrip("\n")
    return (
        body[:1] not in ("", " ", "\t", "\n") and body[-1:] not in (" ", "\t") and not re.search(_NOT_IN_BLOCKS, text)
    )


def _block(text: str, indent: str) -> str:
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    header = "|-" if ends == 0 else "|" if ends == 1 else "|+"
    lines = [indent + line if line else "" for line in text.split("\n")[: None if ends == 0 else -1]]
    return "\n".join([header, *lines])
