"""Which texts Kubernetes takes for ports, variables, keys, headers, percentages and paths, and its words for others.

Each function gives every reason against the text; none means it is fine. Names of objects and labels are the business
of ``heliostat.kube.names``.
"""

import re
from collections.abc import Sequence

from heliostat.embedded.kinds.rules.name_rules import dns1123_subdomain_problems

_PORT_CHARACTERS = re.compile(r"[-a-z0-9]+", re.ASCII)
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+", re.ASCII)
_HEADER = re.compile(r"[-A-Za-z0-9]+", re.ASCII)
_PERCENT = re.compile(r"[0-9]+%", re.ASCII)
_WILDCARD = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_LETTER = re.compile("[a-z]")

PORT_RANGE = "must be between 1 and 65535, inclusive"
FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_LONGEST_KEY = 253


def port_number_problems(port: int) -> list[str]:
    return [] if 1 <= port <= 65535 else [PORT_RANGE]


def port_name_problems(name: str) -> list[str]:
    problems: list[str] = []
    if len(name) > 15:
        problems.append("must be no more than 15 characters")
    if _PORT_CHARACTERS.fullmatch(name) is None:
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if _LETTER.search(name) is None:
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def environment_name_problems(name: str) -> list[str]:
    if not name:
        return ["environment variable name must be non-empty"]
    if name.isascii() and name.isprintable() and "=" not in name:
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def config_key_problems(key: str) -> list[str]:
    problems: list[str] = []
    if len(key) > _LONGEST_KEY:
        problems.append(f"must be no more than {_LONGEST_KEY} characters")
    if _CONFIG_KEY.fullmatch(key) is None:
        problems.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or"
            " 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        )
    if key in (".", ".."):
        problems.append(f"must not be '{key}'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def header_name_problems(name: str) -> list[str]:
    if _HEADER.fullmatch(name):
        return []
    why = (
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for"
        " validation is '[-A-Za-z0-9]+')"
    )
    return [why]


def percent_problems(text: str) -> list[str]:
    if _PERCENT.fullmatch(text):
        return []
    why = (
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used"
        " for validation is '[0-9]+%')"
    )
    return [why]


def host_problems(host: str) -> Sequence[str]:
    """A DNS name, or one behind ``*.``."""
    if "*" not in host:
        return dns1123_subdomain_problems(host)
    if _WILDCARD.fullmatch(host):
        return []
    why = (
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of"
        " lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com',"
        f" regex used for validation is '{_WILDCARD.pattern}')"
    )
    return [why]


def path_segment_problems(name: str) -> list[str]:
    """Names of RBAC objects: anything that can stand in a path."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in name]


def backstep_problems(path: str) -> list[str]:
    return ["must not contain '..'"] if ".." in path.split("/") else []


def descending_path_problems(path: str) -> list[str]:
    """A relative path that stays below where it starts."""
    return (["must be a relative path"] if path.startswith("/") else []) + backstep_problems(path)


def local_path_problems(path: str) -> list[str]:
    reserved = path.startswith("..") and not path.startswith("../")
    return descending_path_problems(path) + (["must not start with '..'"] if reserved else [])


def id_problems(number: int) -> list[str]:
    """User and group ids."""
    return [] if 0 <= number <= 2147483647 else ["must be between 0 and 2147483647, inclusive"]


def mode_problems(mode: int | None) -> list[str]:
    return [] if mode is None or 0 <= mode <= 0o777 else [FILE_MODE]
