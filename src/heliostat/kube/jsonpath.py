"""JSONPath as Kubernetes speaks it: the paths of printer columns, ``kubectl -o jsonpath`` and ``kubectl wait``.

Rules: ``.name``, ``['name']``, ``[2]``, ``[-1]``, ``[0:4:2]``, ``[*]``, ``..name``, unions such as ``['a','b']`` and
filters such as ``[?(@.type=="Ready")]``; a backslash keeps a dot inside a name. What a path does not reach gives no
value, never an error. Templates (text around paths, ``{range}``) are the client's business and are not known here.
"""

from contextlib import suppress
from typing import Any, NoReturn, TypeAlias

from msgspec import Struct

_NAME_ENDS = frozenset(".[]@=<>!)&| ")
_COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
_NUMERIC = frozenset("+-.0123456789eE")
_WORDS = {"true": True, "false": False}


class JsonPathError(ValueError):
    """Not a path: what is wrong, and where in its text."""

    def __init__(self, path: str, at: int, problem: str) -> None:
        super().__init__(path, at, problem)
        self.path = path
        self.at = at
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path!r} is not a JSONPath: {self.problem} at character {self.at + 1}; write it like .spec.name"


class Name(Struct, frozen=True):
    name: str

    def select(self, value: Any) -> list[Any]:
        return [value[self.name]] if isinstance(value, dict) and self.name in value else []


class Everything(Struct, frozen=True):
    def select(self, value: Any) -> list[Any]:
        if isinstance(value, dict):
            return list(value.values())
        return list(value) if isinstance(value, list) else []


class Descendants(Struct, frozen=True):
    """The value itself and everything below it, outermost first."""

    def select(self, value: Any) -> list[Any]:
        found = [value]
        for child in Everything().select(value):
            if isinstance(child, (dict, list)):
                found += self.select(child)
        return found


class Index(Struct, frozen=True):
    index: int

    def select(self, value: Any) -> list[Any]:
        if not isinstance(value, list) or not -len(value) <= self.index < len(value):
            return []
        return [value[self.index]]


class Slice(Struct, frozen=True):
    start: int | None = None
    stop: int | None = None
    step: int | None = None

    def select(self, value: Any) -> list[Any]:
        """Bounds beyond the list select nothing, as they are an error to Kubernetes."""
        if not isinstance(value, list):
            return []
        bounds = [bound for bound in (self.start, self.stop) if bound is not None]
        if any(not -len(value) <= bound <= len(value) for bound in bounds):
            return []
        return value[self.start : self.stop : self.step]


class Union(Struct, frozen=True):
    steps: "tuple[Step, ...]"

    def select(self, value: Any) -> list[Any]:
        return [found for step in self.steps for found in step.select(value)]


class Literal(Struct, frozen=True):
    value: Any

    def find(self, _tree: Any) -> list[Any]:
        return [self.value]


class JsonPath(Struct, frozen=True):
    steps: "tuple[Step, ...]"

    def find(self, tree: Any) -> list[Any]:
        """Every value that the path reaches, in order; none if it reaches nothing."""
        values = [tree]
        for step in self.steps:
            values = [found for value in values for found in step.select(value)]
        return values


class Filter(Struct, frozen=True):
    """Items of a list for which ``left operator right`` holds, or for which ``left`` is there."""

    left: JsonPath | Literal
    operator: str = ""
    right: JsonPath | Literal | None = None

    def select(self, value: Any) -> list[Any]:
        return [item for item in value if self._holds(item)] if isinstance(value, list) else []

    def _holds(self, item: Any) -> bool:
        left = self.left.find(item)
        if self.right is None:
            return bool(left)
        right = self.right.find(item)
        return len(left) == 1 and len(right) == 1 and _is_so(left[0], self.operator, right[0])


Step: TypeAlias = Name | Everything | Descendants | Index | Slice | Union | Filter


def _is_so(left: Any, operator: str, right: Any) -> bool:
    if not _is_comparable(left, right):
        return False
    if operator == "==":
        return bool(left == right)
    if operator == "!=":
        return bool(left != right)
    if isinstance(left, bool):
        return False
    less, equal = bool(left < right), bool(left == right)
    return {"<": less, "<=": less or equal, ">": not less and not equal, ">=": not less}[operator]


def _is_comparable(left: Any, right: Any) -> bool:
    """Text with text, boolean with boolean, number with number."""
    for kind in (str, bool):
        if isinstance(left, kind) or isinstance(right, kind):
            return isinstance(left, kind) and isinstance(right, kind)
    return isinstance(left, (int, float)) and isinstance(right, (int, float))


def parse_jsonpath(text: str) -> JsonPath:
    """Raises ``JsonPathError``. The path may stand in braces and may begin with ``$``."""
    inner = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    reader = _Reader(inner)
    path = reader.path()
    if reader.at < len(inner):
        reader.fail(f"{inner[reader.at]!r} is not expected")
    return path


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, problem: str) -> NoReturn:
        raise JsonPathError(self.text, self.at, problem)

    def starts(self, token: str) -> bool:
        return self.text.startswith(token, self.at)

    def skip(self, token: str) -> bool:
        """Step over the token if it is next."""
        if self.starts(token):
            self.at += len(token)
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.skip(token):
            self.fail(f"{token!r} is missing")

    def spaces(self) -> None:
        while self.skip(" "):
            pass

    def path(self) -> JsonPath:
        steps: list[Step] = []
        if not (self.skip("$") or self.skip("@")) and self.at < len(self.text) and self.text[self.at] not in ".[":
            steps.append(Name(self.name()))
        while (step := self.step()) is not None:
            steps.extend(step)
        return JsonPath(tuple(steps))

    def step(self) -> list[Step] | None:
        if self.skip(".."):
            below = [] if self.starts("[") else [self.named()]
            return [Descendants(), *below]
        if self.skip("."):
            return [] if self.at == len(self.text) or self.starts("[") else [self.named()]
        return [self.bracket()] if self.skip("[") else None

    def named(self) -> Step:
        return Everything() if self.skip("*") else Name(self.name())

    def name(self) -> str:
        letters: list[str] = []
        while self.at < len(self.text) and self.text[self.at] not in _NAME_ENDS:
            if self.skip("\\") and self.at == len(self.text):
                self.fail("nothing follows the backslash")
            letters.append(self.text[self.at])
            self.at += 1
        if not letters:
            self.fail("a name is missing")
        return "".join(letters)

    def bracket(self) -> Step:
        """What stands between ``[`` and ``]``, whose opening is read already."""
        if self.skip("?("):
            step: Step = self.filter()
            self.expect(")")
        else:
            steps = [self.choice()]
            while self.skip(","):
                steps.append(self.choice())
            step = steps[0] if len(steps) == 1 else Union(tuple(steps))
        self.expect("]")
        return step

    def choice(self) -> Step:
        self.spaces()
        if self.skip("*"):
            step: Step = Everything()
        elif self.starts("'") or self.starts('"'):
            step = Name(self.quoted())
        else:
            step = self.numbers()
        self.spaces()
        return step

    def numbers(self) -> Step:
        bounds = [self.whole_number()]
        while len(bounds) < 3 and self.skip(":"):
            bounds.append(self.whole_number())
        if len(bounds) > 1:
            if len(bounds) == 3 and bounds[2] is not None and bounds[2] <= 0:
                self.fail("a step must be at least 1")
            return Slice(*bounds)
        if bounds[0] is None:
            self.fail("an index, a name in quotes, '*' or a filter is missing")
        return Index(bounds[0])

    def whole_number(self) -> int | None:
        start = self.at
        self.skip("-")
        while self.at < len(self.text) and self.text[self.at] in "0123456789":
            self.at += 1
        digits = self.text[start : self.at]
        if digits == "-" or len(digits) > 18:
            self.fail("a number is missing" if digits == "-" else "the number is too long")
        return int(digits) if digits else None

    def quoted(self) -> str:
        quote, letters = self.text[self.at], []
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != quote:
            self.skip("\\")
            letters.append(self.text[self.at : self.at + 1])
            self.at += 1
        self.expect(quote)
        return "".join(letters)

    def filter(self) -> Filter:
        left = self.operand()
        self.spaces()
        for operator in _COMPARISONS:
            if self.skip(operator):
                right = self.operand()
                self.spaces()
                return Filter(left, operator, right)
        return Filter(left)

    def operand(self) -> JsonPath | Literal:
        self.spaces()
        if self.starts("@") or self.starts("$"):
            return self.path()
        if self.starts("'") or self.starts('"'):
            return Literal(self.quoted())
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ")=<>! ":
            self.at += 1
        return Literal(self.plain(self.text[start : self.at]))

    def plain(self, word: str) -> Any:
        if word in _WORDS:
            return _WORDS[word]
        if not word:
            self.fail("a value is missing")
        if set(word) <= _NUMERIC:
            for read in (int, float):
                with suppress(ValueError):
                    return read(word)
        raise JsonPathError(self.text, self.at, f"{word!r} is neither a number nor in quotes")
