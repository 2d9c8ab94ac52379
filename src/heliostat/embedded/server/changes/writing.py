"""What a write is told and gives, and the parts of the server that every write needs.

Those who admit, guard and hear of writes are protocols here, so that how an object is written knows nothing of them.
"""

from typing import Protocol

from msgspec import Struct, field

from heliostat.embedded.access.users import User
from heliostat.embedded.server.changes.field_tracking import FieldTracking
from heliostat.embedded.server.custom.definitions import DeleteObject
from heliostat.embedded.server.documents.object_reader import ObjectReader, Refuse
from heliostat.embedded.server.errors import not_found
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.warning_texts import Warnings
from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.records import Record
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject

TRIES = 5  # of a write that did not say which version it replaces, when somebody else is faster


class AfterWrite(Protocol):
    """Is told of every write once it is done."""

    def __call__(self, tree: JsonObject, resource: Resource, *, deleted: bool) -> None: ...


class Guard(Protocol):
    """Refuses what a user must not write although the verb is allowed: rights the user does not have."""

    def __call__(self, user: User, resource: Resource, new: JsonObject, old: JsonObject | None) -> None: ...


class Admission(Protocol):
    """Who may complete or refuse an object on its way, and hears how it ended."""

    async def admit(self, new: JsonObject, old: JsonObject | None, resource: Resource, verb: str) -> None:
        """Before the object is judged: may change the new one."""

    def find_cautions(self, tree: JsonObject, resource: Resource, subresource: str = "") -> list[str]:
        """What nobody will do about the object, for whoever writes it."""

    async def charge(self, new: JsonObject, old: JsonObject | None, resource: Resource, *, dry_run: bool) -> None:
        """After it was judged, right before the write: may only refuse."""

    def abandon(self, new: JsonObject, old: JsonObject | None, resource: Resource) -> None:
        """The write came to nothing, or was only tried out."""

    async def follow(self, tree: JsonObject, resource: Resource, delete: DeleteObject, *, deleted: bool) -> None:
        """After the write, before it is answered: what the server itself does because of it."""


class WriteOptions(Struct, frozen=True, kw_only=True):
    dry_run: bool = False
    field_validation: str = "Warn"
    subresource: str = ""
    manager: str = ""  # whom the written fields belong to
    is_apply: bool = False  # the object comes with its owners worked out
    user: User | None = None  # None: the server itself
    strict: tuple[str, ...] = ()  # what a strict reader minds about the body itself
    refuse: Refuse | None = None  # how a patch is refused that makes an object nobody can read
    warned: Warnings = field(default_factory=Warnings)  # what the client is told, also when the write is refused


class Written(Struct, frozen=True):
    """What was (or, dry, would be) written. ``deleted``: the write completed a deletion."""

    body: bytes
    created: bool = False
    deleted: bool = False


class WriteParts(Struct, frozen=True):
    store: Store
    authority: Authority
    admission: Admission
    after: AfterWrite
    tracking: FieldTracking
    reader: ObjectReader
    guard: Guard | None = None

    def read(self, tree: JsonObject, resource: Resource, options: WriteOptions) -> None:
        """As an object of its kind; what there is to say about it is said even if the write comes to nothing."""
        refuse, how = options.refuse, (options.field_validation, options.strict)
        if refuse is None:
            options.warned.extend(self.reader.read(tree, resource, *how))
        else:
            options.warned.extend(self.reader.read_patched(tree, resource, *how, refuse))

    def check_rights(self, user: User | None, resource: Resource, new: JsonObject, old: JsonObject | None) -> None:
        if user is not None and self.guard is not None:
            self.guard(user, resource, new, old)

    def find(self, resource: Resource, namespace: str, name: str) -> Record:
        record = self.store.get(Key(resource.storage_name, namespace, name))
        if record is None:
            raise not_found(resource.plural, resource.group, name)
        return record
