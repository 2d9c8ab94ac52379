"""Named formats in rules: ``format.dns1123Label().validate(name)`` gives what is wrong with a text, or nothing."""

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable

from msgspec import Struct

from heliostat.embedded.cel.declarations import Declaration, function, method
from heliostat.embedded.cel.library_url import UrlError, read_url
from heliostat.embedded.cel.prices import VALIDATE
from heliostat.embedded.cel.times import parse_date, parse_schema_time
from heliostat.embedded.cel.values import NONE, Optional, register_type
from heliostat.kube.names import (
    dns1035_label_problems,
    dns1123_label_problems,
    dns1123_subdomain_problems,
    label_key_problems,
    label_value_problems,
)

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


class NamedFormat(Struct, frozen=True):
    name: str
    pattern_size: int  # of a regular expression that would do the same: what a check costs


def _uri_problems(text: str) -> list[str]:
    try:
        read_url(text)
    except UrlError as error:
        return [str(error)]
    return []


def _uuid_problems(text: str) -> list[str]:
    return [] if _UUID.fullmatch(text) else ["does not match the UUID format"]


def _byte_problems(text: str) -> list[str]:
    try:
        b64decode(text, validate=True)
    except (Base64Error, ValueError):
        return ["invalid base64"]
    return []


def _date_problems(text: str) -> list[str]:
    return [] if parse_date(text) else ["invalid date"]


def _datetime_problems(text: str) -> list[str]:
    return [] if text and parse_schema_time(text) else ["invalid datetime"]


def _as_prefix(problems: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A prefix may end in a dash: its last two characters are judged as one letter, as in Kubernetes."""
    return lambda text: problems(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)


_FORMATS: dict[str, tuple[Callable[[str], list[str]], int]] = {
    "dns1123Label": (dns1123_label_problems, 30),
    "dns1123Subdomain": (dns1123_subdomain_problems, 60),
    "dns1035Label": (dns1035_label_problems, 30),
    "qualifiedName": (label_key_problems, 60),
    "dns1123LabelPrefix": (_as_prefix(dns1123_label_problems), 30),
    "dns1123SubdomainPrefix": (_as_prefix(dns1123_subdomain_problems), 60),
    "dns1035LabelPrefix": (_as_prefix(dns1035_label_problems), 30),
    "labelValue": (label_value_problems, 40),
    "uri": (_uri_problems, 1103),
    "uuid": (_uuid_problems, 70),
    "byte": (_byte_problems, 84),
    "date": (_date_problems, 71),
    "datetime": (_datetime_problems, 71),
}


def _named(name: str) -> Optional:
    return Optional(is_present=True, value=_format(name)()) if name in _FORMATS else NONE


def _format(name: str) -> Callable[[], NamedFormat]:
    found = NamedFormat(name, _FORMATS[name][1])
    return lambda: found


def _validate(form: NamedFormat, text: str) -> Optional:
    problems = _FORMATS[form.name][0](text)
    return Optional(is_present=True, value=problems) if problems else NONE


register_type(NamedFormat, "kubernetes.NamedFormat")

FORMATS: list[Declaration] = [
    *(function(f"format.{name}() -> named_format", run=_format(name)) for name in _FORMATS),
    function("format.named(string) -> optional(named_format)", run=_named),
    method("named_format.validate(string) -> optional(list(string))", run=_validate, price=VALIDATE),
]
