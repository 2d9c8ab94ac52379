"""What a client is told beside its answer: few enough and short enough for headers, as kube-apiserver bounds them.

Rules: each text once; all in full while they fit together, else each cut and the last ones left out. Whoever makes them
is not asked for more than can be told, because a small object can give cause for millions.
"""

from collections.abc import Iterable, Iterator

MOST_CHARACTERS = 4 * 1024  # of all of them
CUT_AT = 256  # characters of each, when they do not fit


class Warnings:
    def __init__(self) -> None:
        self._texts: dict[str, None] = {}
        self._cut_size = 0  # of all of them, when each is cut

    def extend(self, texts: Iterable[str]) -> None:
        for text in texts:
            if self._cut_size >= MOST_CHARACTERS:
                return
            kept = text[: MOST_CHARACTERS + 1]
            if kept and kept not in self._texts:
                self._texts[kept] = None
                self._cut_size += min(len(kept), CUT_AT)

    def restart(self, texts: Iterable[str]) -> None:
        """Only these, for a write that is tried again."""
        self._texts.clear()
        self._cut_size = 0
        self.extend(texts)

    def __iter__(self) -> Iterator[str]:
        fits = sum(map(len, self._texts)) <= MOST_CHARACTERS
        return iter([text if fits else text[:CUT_AT] for text in self._texts])


def bound_warnings(texts: Iterable[str]) -> Iterable[str]:
    bounded = Warnings()
    bounded.extend(texts)
    return bounded


def build_warning(text: str) -> str:
    """The value of a Warning header: control characters would end the connection or the header."""
    shown = "".join(character if character.isprintable() or character == "\u00a0" else " " for character in text)
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
