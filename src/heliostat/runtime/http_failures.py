"""How far a request came before it failed, and what people are told of it."""

import os
import ssl

from heliostat.runtime.errors import AmbiguousError, ApiError, UnavailableError
from heliostat.runtime.transport import Call


class Progress:
    """How far one request has come."""

    is_connected = False

    def error(self, call: Call, problem: str) -> ApiError:
        return (AmbiguousError if self.is_connected else UnavailableError)(f"{call}: {problem}")


def words_of(error: BaseException) -> str:
    return str(error) or type(error).__name__


def words_of_system(error: OSError) -> str:
    """An error of TLS has words of its own, and a number that is not the system's."""
    number = 0 if isinstance(error, ssl.SSLError) else error.errno or 0
    why = os.strerror(number) if number > 0 else str(error) if isinstance(error, ssl.SSLError) else error.strerror
    return why or str(error) or type(error).__name__
