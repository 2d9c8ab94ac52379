"""How a command ends early: one sentence on stderr and an exit code, never a traceback."""

INTERRUPTED = 130  # the exit code after Ctrl-C, as shells have it


class CommandError(Exception):
    """2 is a wrong call, 1 is a bad input."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class MissingObjectError(CommandError):
    """There is no such object now; ``has_hint``: the text names one that was probably meant."""

    def __init__(self, message: str, exit_code: int = 2, *, has_hint: bool = False) -> None:
        super().__init__(message, exit_code)
        self.has_hint = has_hint


class UnreachableError(CommandError):
    """There is no cluster to ask; ``is_configured``: one is meant all the same."""

    def __init__(self, message: str, exit_code: int = 2, *, is_configured: bool = True) -> None:
        super().__init__(message, exit_code)
        self.is_configured = is_configured
