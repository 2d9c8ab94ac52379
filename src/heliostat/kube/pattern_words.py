"""What a text should look like, in words, where a schema has only a regular expression for it.

The patterns are those of Kubernetes' own types: quantities, names of labels, and variables' names. A pattern that is
not known here is shown as it is.
"""

import re

QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_LABEL_KEY = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
_REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
_WORDS = {
    _LABEL_KEY: "write a name of letters, digits, -, _ and ., with a domain and a slash before it if you like, such as"
    " example.com/name",
    _REASON: "write one word of letters, digits, _ and :, such as DeploymentReady",
}
_NUMBER = re.compile(r"\s*([+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+))[\s_]*([A-Za-z]*)\s*")
_EXAMPLES = "write a number with a suffix if it needs one, such as 2, 500m, 4G (1000^3) or 4Gi (1024^3)"
_POWERS = {"k": ("k", "Ki"), "m": ("M", "Mi"), "g": ("G", "Gi"), "t": ("T", "Ti"), "p": ("P", "Pi"), "e": ("E", "Ei")}
_BINARY = ("i", "ib", "ibit")
_PLAIN = ("b", "byte", "bytes", "cpu", "cpus", "core", "cores")
_MILLI = ("millicpu", "millicpus", "millicore", "millicores", "mcpu", "mcore", "mcores")


def describe_form(pattern: str, value: str) -> str:
    """How to write what was meant."""
    if pattern == QUANTITY:
        return advise_quantity(value)
    return _WORDS.get(pattern, f"it must match {pattern}")


def advise_quantity(text: str) -> str:
    """For a text that is no quantity."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return _EXAMPLES
    number, suffix = found[1].replace(",", "."), found[2].lower()
    if suffix in _MILLI:
        return f"write {number}m"
    if suffix in ("", *_PLAIN):
        return f"write {number}"
    decimal, binary = _POWERS.get(suffix[0], ("", ""))
    if not decimal:
        return _EXAMPLES
    if suffix[1:] in _BINARY:
        return f"write {number}{binary}"
    return f"write {number}{decimal} or {number}{binary}" if _is_unit(suffix[1:]) else _EXAMPLES


def _is_unit(rest: str) -> bool:
    return rest in ("", "b", "bit", "byte", "bytes")
