"""What can go wrong, drawn once.

StorageError
├── WriteRefusedError      this write, not the store; nothing was written
│   ├── AlreadyExistsError   create: the key is taken
│   ├── NotFoundError        update, delete: there is no such object
│   └── ConflictError        update, delete: the expected revision or uid is not the present one
├── CompactedError         the revision asked for is older than the history kept (HTTP 410)
├── FutureRevisionError    the revision asked for does not exist yet
├── ClosedError            the store or the watch was closed
├── NoRoomError            the disk is full: nothing was written, reads go on, a later write may find room
├── StoreFailedError       a commit failed: what is durable is no longer known, so the process must exit and start again
└── StoreUnusableError     the store could not be opened: in use, not ours, of another format, open to others
"""

from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.records import Record


class StorageError(Exception):
    """Everything the store raises on purpose."""


class WriteRefusedError(StorageError):
    def __init__(self, key: Key, current: Record | None, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key = key
        self.current = current  # what stands in the way


class AlreadyExistsError(WriteRefusedError):
    def __init__(self, key: Key, current: Record) -> None:
        super().__init__(key, current, f"already exists, at revision {current.revision}")


class NotFoundError(WriteRefusedError):
    def __init__(self, key: Key) -> None:
        super().__init__(key, None, "not found")


class ConflictError(WriteRefusedError):
    """``current`` is the present version; read it again and decide anew."""


class CompactedError(StorageError):
    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(f"revision {requested} is no longer kept: history goes back to {oldest}")
        self.requested = requested
        self.oldest = oldest


class FutureRevisionError(StorageError):
    def __init__(self, requested: int, current: int) -> None:
        super().__init__(f"revision {requested} does not exist yet: the newest is {current}")
        self.requested = requested
        self.current = current


class ClosedError(StorageError):
    def __init__(self, what: str) -> None:
        super().__init__(f"the {what} is closed")


class NoRoomError(StorageError):
    def __init__(self, cause: BaseException) -> None:
        super().__init__(
            f"the disk does not take the write ({cause}): nothing was written, and reads go on; "
            "free space where the server keeps its data, then write again"
        )


class StoreFailedError(StorageError):
    def __init__(self, cause: BaseException) -> None:
        super().__init__(
            f"the store stopped because a commit failed: {type(cause).__name__}: {cause}; "
            "acknowledged writes are safe, start the server again once the cause is gone"
        )


class StoreUnusableError(StorageError):
    def __init__(self, path: str, problem: str, fix: str) -> None:
        super().__init__(f"{path}: {problem}; {fix}")
        self.path = path
        self.problem = problem
        self.fix = fix
