"""Signatures of operators that the compiler builds itself: they are here for the checker and the estimator alone."""

from typing import NoReturn

from heliostat.embedded.cel.declarations import Declaration, function


def _never_called(*_: object) -> NoReturn:
    raise AssertionError("the compiler builds this operator itself")


SPECIAL: list[Declaration] = [
    function("_?_:_(bool, A, A) -> A", run=_never_called),
    function(
        "_[_](list(A), int) -> A",
        "_[_](map(A, B), A) -> B",
        "_[_](optional(list(V)), int) -> optional(V)",
        "_[_](optional(map(K, V)), K) -> optional(V)",
        run=_never_called,
    ),
    function(
        "_[?_](list(V), int) -> optional(V)",
        "_[?_](optional(list(V)), int) -> optional(V)",
        "_[?_](map(K, V), K) -> optional(V)",
        "_[?_](optional(map(K, V)), K) -> optional(V)",
        run=_never_called,
    ),
]
