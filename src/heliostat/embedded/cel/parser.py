"""From tokens to the tree: CEL's grammar by precedence climbing.

One rule sets the depth: nesting and chains of operators are limited as in the API server, so every later walk over the
tree may recurse. The first mistake ends the parse. What a name means is not known here.
"""

from collections.abc import Callable
from typing import NoReturn

from heliostat.embedded.cel.errors import CompileError, Issue
from heliostat.embedded.cel.literals import LiteralError, read_float, read_int, read_text, read_uint
from heliostat.embedded.cel.macros import MacroError, expand_macro
from heliostat.embedded.cel.syntax import Call, Entry, ListLiteral, Literal, MapLiteral, Name, Node, Select
from heliostat.embedded.cel.tokens import Token, split_tokens
from heliostat.embedded.cel.values import Scalar

MAX_DEPTH = 250
RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop"),
        *("namespace", "package", "return", "var", "void", "while"),
    }
)
_KEYWORDS = {"true": True, "false": False, "null": None}
_BINARY = {
    **dict.fromkeys(("||",), 1),
    **dict.fromkeys(("&&",), 2),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%"), 5),
}
_OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_LITERALS: dict[str, Callable[[str], Scalar]] = {
    "int": read_int,
    "uint": read_uint,
    "float": read_float,
    "text": read_text,
}


def parse(source: str) -> Node:
    """The tree of an expression; raises ``CompileError``."""
    try:
        return _Parser(source).parse()
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> CompileError:
    return CompileError("", [Issue(-1, f"expression recursion limit exceeded: {MAX_DEPTH}")])


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = split_tokens(source)
        self._index = 0
        self._token = self._tokens[0]
        self._depth = 0

    def parse(self) -> Node:
        tree = self._expression()
        if self._token.kind != "end":
            self._fail(f"Syntax error: extraneous input '{self._token.text}' expecting <EOF>")
        return tree

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _too_deep()
        tree = self._binary(1)
        if self._is("?"):
            position = self._advance().position
            then = self._binary(1)
            self._expect(":")
            tree = Call(position, "_?_:_", None, (tree, then, self._expression()))
        self._depth -= 1
        return tree

    def _binary(self, weakest: int) -> Node:
        """Operators that bind at least as strongly as ``weakest``."""
        left = self._operand()
        length = 0
        while (strength := self._strength()) >= weakest:
            operator = self._advance()
            length += 1
            if self._depth + length > MAX_DEPTH and strength > 2:
                raise _too_deep()
            left = _join(operator, left, self._binary(strength + 1))
        return left

    def _strength(self) -> int:
        return _BINARY.get(self._token.text, 0) if self._token.kind in ("sign", "name") else 0

    def _operand(self) -> Node:
        """Prefix operators, a primary, and what follows it: selections, indices, calls."""
        signs: list[Token] = []
        while self._token.kind == "sign" and self._token.text in ("!", "-"):
            if signs and signs[0].text != self._token.text:
                if signs[0].text == "!":
                    break
                self._fail(f"Syntax error: no viable alternative at input '-{self._token.text}'")
            signs.append(self._advance())
        if signs and signs[0].text == "-" and self._token.kind in ("int", "float"):
            signs.pop()
            tree = self._number(negative=True)
        else:
            tree = self._operand() if self._is("-") else self._primary()
        length = 0
        while self._token.kind == "sign" and self._token.text in (".", "[", "{"):
            length += 1
            if self._depth + length > MAX_DEPTH:
                raise _too_deep()
            tree = self._suffix(tree)
        if len(signs) % 2:
            tree = Call(signs[0].position, f"{signs[0].text}_", None, (tree,))
        return tree

    def _number(self, negative: bool) -> Node:
        token = self._advance()
        try:
            value = read_int(token.text, negative) if token.kind == "int" else read_float(token.text)
        except LiteralError as error:
            self._fail(str(error), token)
        return Literal(token.position, -value if negative and token.kind == "float" else value)

    def _primary(self) -> Node:
        token = self._token
        if token.kind in _LITERALS:
            return self._literal()
        if token.text == ".":
            self._advance()
        if self._token.kind == "name":
            return self._name()
        if token.text == "(":
            self._advance()
            tree = self._expression()
            self._expect(")")
            return tree
        if token.text == "[":
            return self._list()
        if token.text == "{":
            return self._map()
        return self._fail(f"Syntax error: mismatched input '{token.text}' expecting {_OPERAND}")

    def _literal(self) -> Node:
        token = self._advance()
        try:
            return Literal(token.position, _LITERALS[token.kind](token.text))
        except LiteralError as error:
            return self._fail(str(error), token)

    def _name(self) -> Node:
        token = self._advance()
        if token.text in _KEYWORDS:
            return Literal(token.position, _KEYWORDS[token.text])
        if token.text == "in":
            self._fail(f"Syntax error: mismatched input 'in' expecting {_OPERAND}", token)
        if self._is("("):
            return self._call(None, token.text)
        if token.text in RESERVED:
            self._fail(f"reserved identifier: {token.text}", token)
        return Name(token.position, token.text)

    def _suffix(self, tree: Node) -> Node:
        sign = self._advance()
        if sign.text == "[":
            function = "_[?_]" if self._take("?") else "_[_]"
            index = self._expression()
            self._expect("]")
            return Call(sign.position, function, None, (tree, index))
        if sign.text == "{":
            self._fail(f"undeclared reference to '{_dotted(tree)}' (in container '')", sign)
        is_optional = self._take("?")
        field = self._token
        if field.kind != "name" or field.text in ("in", *_KEYWORDS):
            self._fail(f"Syntax error: no viable alternative at input '.{field.text}'".replace("<EOF>", ""))
        self._advance()
        if self._is("(") and not is_optional:
            return self._call(tree, field.text)
        return Select(sign.position, tree, field.text, is_optional)

    def _call(self, target: Node | None, function: str) -> Node:
        position = self._advance().position
        args = [] if self._is(")") else [self._expression()]
        while args and self._take(","):
            args.append(self._expression())
        self._expect(")")
        try:
            return expand_macro(position, function, target, args) or Call(position, function, target, tuple(args))
        except MacroError as error:
            raise CompileError(self._source, [error.issue]) from None

    def _list(self) -> Node:
        position = self._advance().position
        items: list[Node] = []
        optional: set[int] = set()
        while not self._is("]"):
            if self._take("?"):
                optional.add(len(items))
            items.append(self._expression())
            if not self._take(","):
                break
        self._expect("]", "{']', ','}")
        return ListLiteral(position, tuple(items), frozenset(optional))

    def _map(self) -> Node:
        position = self._advance().position
        entries: list[Entry] = []
        while not self._is("}"):
            is_optional = self._take("?")
            key = self._expression()
            colon = self._expect(":")
            entries.append(Entry(colon.position, key, self._expression(), is_optional))
            if not self._take(","):
                break
        self._expect("}", "{'}', ','}")
        return MapLiteral(position, tuple(entries))

    def _is(self, sign: str) -> bool:
        return self._token.kind == "sign" and self._token.text == sign

    def _take(self, sign: str) -> bool:
        if not self._is(sign):
            return False
        self._advance()
        return True

    def _expect(self, sign: str, choices: str = "") -> Token:
        if self._is(sign):
            return self._advance()
        if sign == ")" and self._token.kind == "end":
            self._fail("Syntax error: missing ')' at '<EOF>'")
        return self._fail(f"Syntax error: mismatched input '{self._token.text}' expecting {choices or repr(sign)}")

    def _advance(self) -> Token:
        token = self._token
        self._index = min(self._index + 1, len(self._tokens) - 1)
        self._token = self._tokens[self._index]
        return token

    def _fail(self, message: str, token: Token | None = None) -> NoReturn:
        raise CompileError(self._source, [Issue((token or self._token).position, message)])


def _join(operator: Token, left: Node, right: Node) -> Node:
    """Conjunctions and disjunctions of many terms become one call, so that they do not nest."""
    function = "@in" if operator.text == "in" else f"_{operator.text}_"
    if function in ("_&&_", "_||_") and isinstance(left, Call) and left.function == function:
        return Call(left.position, function, None, (*left.args, right))
    return Call(operator.position, function, None, (left, right))


def _dotted(tree: Node) -> str:
    if isinstance(tree, Select):
        return f"{_dotted(tree.operand)}.{tree.field}"
    return tree.name if isinstance(tree, Name) else "{...}"
