"""What a refused patch says, beyond the refusals that every request knows.

kube-apiserver hides why a patch cannot be applied to an object behind one sentence; ``why`` keeps it for logs and
tests. An error that it has no status for is a 500 without a reason, whose message is the error itself. Two of these
refusals have ``details`` in their Status although nothing stands in them (``has_empty_details``).
"""

from collections.abc import Sequence

from heliostat.embedded.refusals import Cause, RefusedError

_UNPROCESSABLE = "the server rejected our request due to an error in our request"


class UnprocessablePatchError(RefusedError):
    """The body is a patch, but not one for this object."""

    has_empty_details = True

    def __init__(self, why: str) -> None:
        super().__init__(422, "Invalid", _UNPROCESSABLE)
        self.why = why

    def __str__(self) -> str:
        return self.why


class UnservedMediaTypeError(RefusedError):
    """A built-in kind takes no patch of this content type."""

    has_empty_details = True

    def __init__(self) -> None:
        super().__init__(415, "UnsupportedMediaType", "415: Unsupported Media Type")


class ApplyConflictError(RefusedError):
    """Somebody else owns fields that this apply would change; each cause names one of them."""

    def __init__(self, message: str, causes: Sequence[Cause]) -> None:
        super().__init__(409, "Conflict", message, causes=causes)


def too_large(message: str) -> RefusedError:
    return RefusedError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def unforeseen(message: str) -> RefusedError:
    """What kube-apiserver has no status for."""
    return RefusedError(500, "", message)
