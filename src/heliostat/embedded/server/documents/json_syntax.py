"""What is wrong with a JSON text, in the words of Go's decoder, which clients of kube-apiserver read and compare.

Only asked when the fast decoder has refused a text: the first problem is told, by the state the scanner is in. Bytes
are told as characters, one each, as Go does.
"""

from heliostat.kube.go_text import go_quote

DEEPEST = 10_000
_SPACE = b" \t\r\n"
_DIGITS = b"0123456789"
_HEX = b"0123456789abcdefABCDEF"
_ESCAPES = b'bfnrt\\/"'
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_END = "unexpected end of JSON input"
_KEY, _VALUE = "looking for beginning of object key string", "looking for beginning of value"


class _SyntaxError(ValueError):
    """Carries Go's sentence."""


def json_problem(text: bytes) -> str:
    """Go's sentence about the text; empty when it is JSON."""
    try:
        _Scanner(text).scan()
    except _SyntaxError as error:
        return str(error)
    return ""


class _Scanner:
    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = 0
        self._open: list[bytes] = []  # brackets that wait for their end

    def scan(self) -> None:
        """Value by value, without recursion: the text may be nested deeper than the stack."""
        while True:
            self._begin_value()
            while self._open and self._after_value():
                pass
            if not self._open:
                break
        self._skip_space()
        if self._at < len(self._text):
            raise self._bad("after top-level value")

    def _after_value(self) -> bool:
        """Whether the value ended its container too; if not, another value is to follow."""
        self._skip_space()
        byte = self._peek()
        if self._open[-1] == b"[":
            if byte not in b",]":
                raise self._bad("after array element")
        elif byte not in b",}":
            raise self._bad("after object key:value pair")
        self._at += 1
        if byte != b",":
            self._open.pop()
            return True
        if self._open[-1] == b"{":
            self._skip_space()
            self._key()
        return False

    def _begin_value(self) -> None:
        """Up to the end of a scalar or of an empty container, into the first value of any other."""
        while True:
            self._skip_space()
            byte = self._peek()
            if byte == b"[":
                self._enter(byte)
                self._skip_space()
                if self._peek() != b"]":
                    continue
            elif byte == b"{":
                self._enter(byte)
                self._skip_space()
                if self._peek() != b"}":
                    self._key()
                    continue
            else:
                self._scalar(byte)
                return
            self._at += 1
            self._open.pop()
            return

    def _enter(self, bracket: bytes) -> None:
        if len(self._open) >= DEEPEST:
            raise self._bad("exceeded max depth")
        self._open.append(bracket)
        self._at += 1

    def _key(self) -> None:
        if self._peek() != b'"':
            raise self._bad(_KEY)
        self._string()
        self._skip_space()
        if self._peek() != b":":
            raise self._bad("after object key")
        self._at += 1

    def _scalar(self, byte: bytes) -> None:
        if byte == b'"':
            self._string()
        elif byte == b"-" or byte in _DIGITS:
            self._number()
        elif byte[0] in _LITERALS:
            self._literal(_LITERALS[byte[0]])
        else:
            raise self._bad(_VALUE)

    def _string(self) -> None:
        self._at += 1
        while (byte := self._peek()) != b'"':
            if byte < b" ":
                raise self._bad("in string literal")
            self._at += 1
            if byte == b"\\":
                self._escape()
        self._at += 1

    def _escape(self) -> None:
        byte = self._peek()
        if byte not in _ESCAPES + b"u":
            raise self._bad("in string escape code")
        self._at += 1
        for _ in range(4 if byte == b"u" else 0):
            if self._peek() not in _HEX:
                raise self._bad("in \\u hexadecimal character escape")
            self._at += 1

    def _number(self) -> None:
        if self._peek() == b"-":
            self._at += 1
            if self._peek() not in _DIGITS:
                raise self._bad("in numeric literal")
        if self._next_is(b"0"):
            self._at += 1
        else:
            self._digits("in numeric literal")
        if self._next_is(b"."):
            self._at += 1
            self._digits("after decimal point in numeric literal")
        if self._next_is(b"eE"):
            self._at += 1
            if self._next_is(b"+-"):
                self._at += 1
            self._digits("in exponent of numeric literal")

    def _digits(self, where: str) -> None:
        if self._peek() not in _DIGITS:
            raise self._bad(where)
        while self._next_is(_DIGITS):
            self._at += 1

    def _literal(self, word: bytes) -> None:
        for wanted in word:
            if self._peek()[0] != wanted:
                raise self._bad(f"in literal {word.decode()} (expecting {chr(wanted)!r})")
            self._at += 1

    def _skip_space(self) -> None:
        while self._next_is(_SPACE):
            self._at += 1

    def _next_is(self, wanted: bytes) -> bool:
        return self._at < len(self._text) and self._text[self._at] in wanted

    def _peek(self) -> bytes:
        if self._at >= len(self._text):
            raise _SyntaxError(_END)
        return self._text[self._at : self._at + 1]

    def _bad(self, where: str) -> _SyntaxError:
        if self._at >= len(self._text):
            return _SyntaxError(_END)
        character = chr(self._text[self._at])
        shown = {"'": "\\'", '"': '"'}.get(character) or go_quote(character)[1:-1]
        return _SyntaxError(f"invalid character '{shown}' {where}")
