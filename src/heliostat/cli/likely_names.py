"""Which name somebody probably meant: one that is written almost the same, or that begins like it."""

from collections.abc import Iterable

from heliostat.kube.nearest import nearest_name

_LONG_ENOUGH = 3  # characters, to say anything


def find_likely(name: str, known: Iterable[str]) -> str | None:
    """Pods have names that nobody types to the end."""
    names = list(known)
    begins = (each for each in names if len(name) >= _LONG_ENOUGH and each.startswith(name))
    return nearest_name(name, names) or next(begins, None)
