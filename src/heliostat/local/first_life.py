"""How a supervisor tells a process that nobody like it has run before, so no earlier one's writes are on their way."""

from collections.abc import Mapping

FIRST_LIFE = "HELIOSTAT_FIRST_LIFE"


def is_first_life(environment: Mapping[str, str]) -> bool:
    return environment.get(FIRST_LIFE) == "1"
