"""CEL as Kubernetes 1.34 offers it to the rules of a CustomResourceDefinition: all libraries, and the way from text
to program.

``compile_expression`` is the one entrance: parse, check against the types, check literals, build. What a
rule means for an object is not known here.
"""

from collections.abc import Mapping

from msgspec import Struct

from heliostat.embedded.cel.checker import Checked, check
from heliostat.embedded.cel.declarations import Functions
from heliostat.embedded.cel.errors import CompileError, Issue
from heliostat.embedded.cel.library_collections import LISTS, OPTIONALS
from heliostat.embedded.cel.library_conversions import CONVERSIONS
from heliostat.embedded.cel.library_formats import FORMATS
from heliostat.embedded.cel.library_network import NETWORK
from heliostat.embedded.cel.library_operators import OPERATORS
from heliostat.embedded.cel.library_quantity import QUANTITIES
from heliostat.embedded.cel.library_semver import VERSIONS
from heliostat.embedded.cel.library_special import SPECIAL
from heliostat.embedded.cel.library_text import TEXTS
from heliostat.embedded.cel.library_times import TIMES
from heliostat.embedded.cel.library_url import URLS
from heliostat.embedded.cel.literal_checks import literal_issues
from heliostat.embedded.cel.parser import MAX_DEPTH, parse
from heliostat.embedded.cel.program import Program, build_program
from heliostat.embedded.cel.static_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
    type_of,
)

FUNCTIONS = Functions(
    (
        OPERATORS,
        SPECIAL,
        CONVERSIONS,
        TEXTS,
        TIMES,
        LISTS,
        OPTIONALS,
        QUANTITIES,
        NETWORK,
        URLS,
        FORMATS,
        VERSIONS,
    )
)

TYPE_NAMES: Mapping[str, Type] = {
    **{kind.name: kind for kind in (BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT, DURATION, TIMESTAMP)},
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "type": type_of(DYN),
    "optional_type": optional_of(DYN),
    "net.IP": Type("net.IP"),
    "net.CIDR": Type("net.CIDR"),
}


class Expression(Struct, frozen=True, eq=False):
    """A compiled expression with what is known about it."""

    program: Program
    checked: Checked


def compile_expression(source: str, variables: Mapping[str, Type]) -> Expression:
    """Raises ``CompileError``, and ``EvaluationError`` when a part that depends on no data has no value."""
    try:
        tree = parse(source)
        checked = check(source, tree, variables, FUNCTIONS, TYPE_NAMES)
        issues = literal_issues(checked)
        if issues:
            raise CompileError(source, issues)
        return Expression(build_program(checked), checked)
    except RecursionError:
        raise CompileError("", [Issue(-1, f"expression recursion limit exceeded: {MAX_DEPTH}")]) from None
