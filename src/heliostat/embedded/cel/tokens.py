"""From text to tokens.

Blanks and // comments are dropped. A character that starts no token is an error at its place. Reserved words are names
here; the parser refuses them where a name is needed.
"""

import re
from typing import Final

from msgspec import Struct

from heliostat.embedded.cel.errors import CompileError, Issue

MAX_CHARACTERS = 100_000
END: Final = "<EOF>"

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n\f]+|//[^\n]*)
  | (?P<text>[bB]?[rR](?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"[^"\n\r]*"|'[^'\n\r]*')
           |[bB]?(?:\"{3}(?:[^\\]|\\[\s\S])*?\"{3}|'{3}(?:[^\\]|\\[\s\S])*?'{3}
                   |"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*'))
  | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])
  | (?P<int>0x[0-9a-fA-F]+|\d+)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<sign>==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.ASCII,
)


class Token(Struct, frozen=True):
    kind: str  # text, float, uint, int, name, sign, end
    text: str
    position: int


def split_tokens(source: str) -> list[Token]:
    """The tokens and a last one of kind ``end``; raises ``CompileError``."""
    if len(source) > MAX_CHARACTERS:
        problem = f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_CHARACTERS}"
        raise CompileError("", [Issue(-1, problem)])
    tokens: list[Token] = []
    position = 0
    while position < len(source):
        found = _TOKEN.match(source, position)
        if found is None:
            raise CompileError(source, [Issue(position, _unknown(source, position))])
        if found.lastgroup != "space":
            tokens.append(Token(found.lastgroup or "", found[0], position))
        position = found.end()
    tokens.append(Token("end", END, len(source)))
    return tokens


def _unknown(source: str, position: int) -> str:
    rest = source[position:].split("\n", 1)[0]
    shown = rest if rest[0] in "\"'" else rest[0]
    return f"Syntax error: token recognition error at: '{shown}'"
