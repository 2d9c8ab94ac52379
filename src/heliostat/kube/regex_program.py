"""From the tree of a regular expression to the steps of a machine that follows all possibilities at once.

A step waits for a character, checks an assertion, or branches (the preferred way first). Counted repetitions are
written out, so the number of steps is limited.
"""

from typing import TypeAlias

from msgspec import Struct

from heliostat.kube.regex_classes import CharacterClass
from heliostat.kube.regex_syntax import (
    Assertion,
    Choice,
    One,
    Regex,
    RegexError,
    Repeat,
    Sequence,
    parse_regex,
)

MAX_STEPS = 20_000


class Wait(Struct):
    kind: CharacterClass
    next: int


class Check(Struct):
    assertion: str
    next: int


class Branch(Struct):
    ways: list[int]


class Done(Struct):
    pass


Step: TypeAlias = Wait | Check | Branch | Done


class Machine(Struct, frozen=True):
    steps: list[Step]
    start: int
    is_anchored: bool  # matches only at the beginning of a text


def build_machine(pattern: str) -> Machine:
    """Raises ``RegexError``."""
    tree = parse_regex(pattern)
    writer = _Writer(pattern)
    done = writer.add(Done())
    start = writer.write(tree, done)
    return Machine(writer.steps, start, _is_anchored(tree))


def _is_anchored(tree: Regex) -> bool:
    while isinstance(tree, Sequence) and tree.parts:
        tree = tree.parts[0]
    return isinstance(tree, Assertion) and tree.kind == "text start"


class _Writer:
    """Writes from the end to the beginning: every step knows its successor."""

    def __init__(self, pattern: str) -> None:
        self.steps: list[Step] = []
        self._pattern = pattern

    def add(self, step: Step) -> int:
        if len(self.steps) >= MAX_STEPS:
            raise RegexError("expression too large", self._pattern)
        self.steps.append(step)
        return len(self.steps) - 1

    def write(self, tree: Regex, following: int) -> int:
        """The first step of a part after which ``following`` comes."""
        if isinstance(tree, One):
            return self.add(Wait(tree.kind, following))
        if isinstance(tree, Assertion):
            return self.add(Check(tree.kind, following))
        if isinstance(tree, Sequence):
            for part in reversed(tree.parts):
                following = self.write(part, following)
            return following
        if isinstance(tree, Choice):
            return self.add(Branch([self.write(option, following) for option in tree.options]))
        return self._write_repeat(tree, following)

    def _write_repeat(self, tree: Repeat, following: int) -> int:
        copies = tree.least
        if tree.most is None:
            end, following = following, self._write_loop(tree, following)
            if tree.least == 0:
                return self._branch(following, end, tree.is_greedy)
            copies -= 1
        else:
            end = following
            for _ in range(tree.most - tree.least):
                following = self._branch(self.write(tree.part, following), end, tree.is_greedy)
        for _ in range(copies):
            following = self.write(tree.part, following)
        return following

    def _write_loop(self, tree: Repeat, following: int) -> int:
        """Once or more: the question whether to go on comes after each round, so an empty round ends the loop."""
        branch = Branch([])
        body = self.write(tree.part, self.add(branch))
        branch.ways = [body, following] if tree.is_greedy else [following, body]
        return body

    def _branch(self, body: int, end: int, is_greedy: bool) -> int:
        return self.add(Branch([body, end] if is_greedy else [end, body]))
