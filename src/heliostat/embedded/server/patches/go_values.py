"""Values and types as Go programs print them, for messages that clients compare word for word."""

from typing import Any

from heliostat.kube.go_text import go_quote

_TYPE_NAMES: dict[type, str] = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
}
_JSON_NAMES: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
}


def go_text(value: Any) -> str:
    """As ``%v``: ``map[a:1 b:[x y]]``."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    return value if isinstance(value, str) else _scalar_text(value, "<nil>")


def go_syntax(value: Any) -> str:
    """As ``%#v``: ``map[string]interface {}{"a":1}``."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{go_quote(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{pairs}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    return go_quote(value) if isinstance(value, str) else _scalar_text(value, "interface {}(nil)")


def go_type(value: Any) -> str:
    """As ``%s`` of its type: ``map[string]interface {}``."""
    return _TYPE_NAMES.get(type(value), "%!s(<nil>)")


def json_type(value: Any) -> str:
    """As Go's JSON decoder calls it: object, array, string, number, bool."""
    return _JSON_NAMES.get(type(value), "null")


def not_an_object(value: Any) -> str:
    """What Go's JSON decoder says when it expects an object and meets something else."""
    return f"json: cannot unmarshal {json_type(value)} into Go value of type map[string]interface {{}}"


def go_list(items: tuple[str, ...]) -> str:
    """As ``%q`` of a list of strings: ``["a" "b"]``."""
    return f"[{' '.join(map(go_quote, items))}]"


def _scalar_text(value: Any, null: str) -> str:
    if value is None:
        return null
    if isinstance(value, bool):
        return "true" if value else "false"
    return _float_text(value) if isinstance(value, float) else str(value)


def _float_text(value: float) -> str:
    """The shortest digits; an exponent below 1e-4 and from 1e6 on."""
    text = repr(value)
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return text.removesuffix(".0")
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        whole, _, fraction = mantissa.lstrip("-").partition(".")
        digits = (whole + fraction).rstrip("0")
        mantissa = ("-" if value < 0 else "") + digits[0] + ("." + digits[1:] if digits[1:] else "")
        exponent = f"+{len(whole) - 1:02}"
    return f"{mantissa}e{exponent}"
