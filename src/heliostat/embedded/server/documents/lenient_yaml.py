"""YAML as Go's reader takes it: of a key given twice the last one counts, and the repetition is told.

In a file of its own, because the YAML library is 1 MB and most servers never meet any YAML.
"""

from typing import Any

from heliostat.kube.yaml_compose import Composer


class LenientComposer(Composer):
    """Notes a key that is given twice, where people are better told at once."""

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.repeated: list[str] = []

    def meet_repeated_key(self, _mapping: int, event: Any, key: str) -> None:
        self.repeated.append(f'line {event.start_mark.line + 1}: key "{key}" already set in map')
