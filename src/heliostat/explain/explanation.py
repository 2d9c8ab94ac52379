"""An answer to "why is it not ready?": sentences of what, why and how to mend it, and the text that people read.

The first sentence is the one to look at first. ``places`` is what runs where, ``steps`` is what an operator would do
next, ``notes`` hold for what is ready too. Nothing is found out here.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct


class Sentence(Struct, frozen=True):
    what: str
    why: str = ""
    fix: str = ""
    lines: tuple[str, ...] = ()  # the last ones that a program of the user wrote, as they are


class Explanation(Struct, frozen=True, kw_only=True):
    title: str  # RayCluster default/demo
    verdict: str  # is ready: 1 head and 2 workers run
    is_ready: bool
    sentences: tuple[Sentence, ...] = ()
    places: tuple[tuple[str, ...], ...] = ()  # rows, the headings first
    steps: tuple[str, ...] = ()
    notes: tuple[Sentence, ...] = ()


def format_explanation(explanation: Explanation) -> str:
    """Plain text without colours; ends without a newline."""
    return "\n".join(_lines(explanation))


def _lines(explanation: Explanation) -> Iterator[str]:
    yield f"{explanation.title} {explanation.verdict}"
    for number, sentence in enumerate(explanation.sentences, 1):
        yield ""
        yield from _sentence_lines(sentence, f"{number}. ")
    if explanation.notes:
        yield ""
        for note in explanation.notes:
            yield from _sentence_lines(note, "note: ")
    if explanation.steps:
        yield ""
        yield "an operator would next:"
        yield from (f"  {step}" for step in explanation.steps)
    if len(explanation.places) > 1:
        yield ""
        yield from format_columns(explanation.places)


def _sentence_lines(sentence: Sentence, mark: str) -> Iterator[str]:
    yield f"{mark}{one_line(sentence.what)}"
    if sentence.why:
        yield f"   why: {one_line(sentence.why)}"
    if sentence.lines:
        yield "   its last lines:"
        yield from (f"     {line}" for line in sentence.lines)
    if sentence.fix:
        yield f"   fix: {one_line(sentence.fix)}"


def format_columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """All rows have as many cells as the first; the last column is not padded."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "   ".join([*cells, row[-1]]).rstrip()


def one_line(text: str) -> str:
    return " ".join(text.split())


def join_unique(sentences: Iterable[Sentence]) -> tuple[Sentence, ...]:
    """Each once, in the order of their first appearance."""
    return tuple(dict.fromkeys(sentences))
