"""How a command ends early: one sentence on stderr and an exit code, never a traceback."""


class CommandError(Exception):
    """2 is a wrong call, 1 is a bad input."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class MissingObjectError(CommandError):
    """There is no such object now."""


class UnreachableError(CommandError):
    """There is no cluster to ask."""
