"""Names, label keys and label values: what is refused, and in apimachinery's words."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.names import (
    dns1035_label_problems,
    dns1123_label_problems,
    dns1123_subdomain_problems,
    label_key_problems,
    label_value_problems,
)

Check = Callable[[str], list[str]]

LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is"
    " '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
LABEL_1123 = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
QUALIFIED = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
TOO_LONG = "must be no more than 63 characters"


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (dns1035_label_problems, "a"),
        (dns1035_label_problems, "ray-cluster-1"),
        (dns1035_label_problems, "a" * 63),
        (dns1123_label_problems, "1-a"),
        (dns1123_subdomain_problems, "a.b-c.1"),
        (dns1123_subdomain_problems, "a" * 253),
        (label_key_problems, "MyName"),
        (label_key_problems, "ray.io/cluster"),
        (label_key_problems, "a" * 253 + "/" + "b" * 63),
        (label_value_problems, ""),
        (label_value_problems, "A_b.c-1"),
        (label_value_problems, "v" * 63),
    ],
)
def test_accepted(check: Check, text: str) -> None:
    assert check(text) == []


@pytest.mark.parametrize(
    ("check", "text", "problems"),
    [
        (dns1035_label_problems, "1a", [LABEL_1035]),
        (dns1035_label_problems, "", [LABEL_1035]),
        (dns1035_label_problems, "a.b", [LABEL_1035]),
        (dns1035_label_problems, "a-", [LABEL_1035]),
        (dns1035_label_problems, "a\n", [LABEL_1035]),
        (dns1035_label_problems, "a" * 64, [TOO_LONG]),
        (dns1035_label_problems, "é" * 32, [TOO_LONG, LABEL_1035]),
        (dns1123_label_problems, "a.b", ["must not contain dots"]),
        (dns1123_label_problems, "A", [LABEL_1123]),
        (dns1123_subdomain_problems, "a..b", [SUBDOMAIN]),
        (dns1123_subdomain_problems, "a" * 254, ["must be no more than 253 characters"]),
        (label_key_problems, "", ["name part must be non-empty", f"name part {QUALIFIED}"]),
        (label_key_problems, "invalid_key!", [f"name part {QUALIFIED}"]),
        (label_key_problems, "/name", ["prefix part must be non-empty"]),
        (label_key_problems, "UPPER/name", [f"prefix part {SUBDOMAIN}"]),
        (label_key_problems, "n" * 64, [f"name part {TOO_LONG}"]),
        (
            label_key_problems,
            "a/b/c",
            [f"a qualified name {QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"],
        ),
        (label_value_problems, "invalid/value", [VALUE]),
        (label_value_problems, "-", [VALUE]),
        (label_value_problems, "v" * 64, [TOO_LONG]),
    ],
)
def test_refused_in_kubernetes_words(check: Check, text: str, problems: list[str]) -> None:
    assert check(text) == problems


@given(st.text(max_size=70))
def test_a_dns1035_label_is_also_a_1123_label_a_subdomain_a_key_and_a_value(text: str) -> None:
    if not dns1035_label_problems(text):
        wider = (dns1123_label_problems, dns1123_subdomain_problems, label_key_problems, label_value_problems)
        assert [check(text) for check in wider] == [[], [], [], []]


@given(st.from_regex(re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"), fullmatch=True))
def test_every_dns1035_label_is_accepted(text: str) -> None:
    assert dns1035_label_problems(text) == []
