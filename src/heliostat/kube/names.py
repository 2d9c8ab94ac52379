"""Which texts Kubernetes accepts as names, label keys and label values, and its own words for the others.

Each function returns every reason why the text is refused; an empty list means it is fine. Lengths are counted in bytes
of UTF-8, as Kubernetes does. The wording is apimachinery's, because people search for it.
"""

import re

_LABEL_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL_1123}(\.{_LABEL_1123})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_QUALIFIED})?"

_IS_LABEL_1123 = re.compile(_LABEL_1123)
_IS_LABEL_1035 = re.compile(_LABEL_1035)
_IS_SUBDOMAIN = re.compile(_SUBDOMAIN)
_IS_QUALIFIED = re.compile(_QUALIFIED)
_IS_LABEL_VALUE = re.compile(_LABEL_VALUE)

_LABEL_LENGTH = 63
_SUBDOMAIN_LENGTH = 253

_EMPTY = "must be non-empty"


def _explain(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)  # two blanks before "or", as apimachinery has it
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


_NOT_LABEL_1123 = _explain(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character",
    _LABEL_1123,
    "my-name",
    "123-abc",
)
_NOT_LABEL_1035 = _explain(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character",
    _LABEL_1035,
    "my-name",
    "abc-123",
)
_NOT_SUBDOMAIN = _explain(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_NOT_QUALIFIED = _explain(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _QUALIFIED,
    "MyName",
    "my.name",
    "123-abc",
)
_NOT_LABEL_VALUE = _explain(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)
_TOO_MANY_SLASHES = (
    f"a qualified name {_NOT_QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)


def _length_problems(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(text.encode("utf-8", "surrogatepass")) > limit else []


def dns1035_label_problems(text: str) -> list[str]:
    """A name such as a Service's: starts with a letter."""
    problems = _length_problems(text, _LABEL_LENGTH)
    if not _IS_LABEL_1035.fullmatch(text):
        problems.append(_NOT_LABEL_1035)
    return problems


def dns1123_label_problems(text: str) -> list[str]:
    """A name such as a namespace's: may start with a digit, has no dots."""
    problems = _length_problems(text, _LABEL_LENGTH)
    if not _IS_LABEL_1123.fullmatch(text):
        problems.append("must not contain dots" if _IS_SUBDOMAIN.fullmatch(text) else _NOT_LABEL_1123)
    return problems


def dns1123_subdomain_problems(text: str) -> list[str]:
    """Labels joined by dots: what most objects may be called."""
    problems = _length_problems(text, _SUBDOMAIN_LENGTH)
    if not _IS_SUBDOMAIN.fullmatch(text):
        problems.append(_NOT_SUBDOMAIN)
    return problems


def label_key_problems(text: str) -> list[str]:
    """A key of labels or annotations: a name, optionally behind a DNS subdomain and a slash."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [_TOO_MANY_SLASHES]
    problems = [f"prefix part {problem}" for problem in _prefix_problems(prefix)] if slash else []
    return problems + [f"name part {problem}" for problem in _qualified_part_problems(name)]


def _prefix_problems(prefix: str) -> list[str]:
    return dns1123_subdomain_problems(prefix) if prefix else [_EMPTY]


def _qualified_part_problems(name: str) -> list[str]:
    problems = _length_problems(name, _LABEL_LENGTH) if name else [_EMPTY]
    if not _IS_QUALIFIED.fullmatch(name):
        problems.append(_NOT_QUALIFIED)
    return problems


def label_value_problems(text: str) -> list[str]:
    problems = _length_problems(text, _LABEL_LENGTH)
    if not _IS_LABEL_VALUE.fullmatch(text):
        problems.append(_NOT_LABEL_VALUE)
    return problems
