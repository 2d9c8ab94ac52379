"""Secret text that cannot be shown by accident.

Rules: only ``reveal`` gives the text; printing, formatting, logging, JSON and pickling never do; ``matches`` takes the
same time whatever differs. Redaction is by type, so no later code has to remember it.
"""

import hmac
from typing import NoReturn


class Hidden:
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def matches(self, candidate: str) -> bool:
        return hmac.compare_digest(self._text.encode(), candidate.encode(errors="surrogateescape"))

    def __repr__(self) -> str:
        return "<hidden>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a hidden text is not written anywhere; call reveal() where it is really needed")
