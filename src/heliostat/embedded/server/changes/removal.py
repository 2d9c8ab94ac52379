"""Delete an object of any kind: mark it, or take it away when nothing holds it; and tell those who listen.

What an object looks like once its deletion was asked for is ``deletion``'s to say.
"""

import msgspec

from heliostat.embedded.server.changes.delete_options import DeleteOptions, check_preconditions
from heliostat.embedded.server.changes.deletion import mark_deleted
from heliostat.embedded.server.changes.stored_form import build_encoder, encode_stored, is_same
from heliostat.embedded.server.changes.writing import TRIES, WriteParts, Written
from heliostat.embedded.server.errors import MODIFIED, conflict
from heliostat.embedded.server.facts import facts_of
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.errors import ConflictError, NotFoundError
from heliostat.embedded.storage.records import Record
from heliostat.kube.jsontree import JsonObject


class Removal:
    def __init__(self, parts: WriteParts) -> None:
        self._parts = parts

    async def delete(self, resource: Resource, namespace: str, name: str, options: DeleteOptions) -> Written:
        """``deleted`` tells whether the object is gone; if not, the body is the object that waits to go."""
        for attempt in range(TRIES):
            record = self._parts.find(resource, namespace, name)
            old: JsonObject = msgspec.json.decode(record.body)
            check_preconditions(old, resource, options)
            await self._parts.admission.admit(old, old, resource, "delete")
            marked, goes = mark_deleted(old, resource, options, self._parts.authority.now())
            if options.dry_run:
                return Written(encode_stored(marked, resource), deleted=goes)
            try:
                return await self._carry_out(record, old, marked, resource, goes=goes)
            except (ConflictError, NotFoundError):
                if attempt == TRIES - 1:
                    raise conflict(resource.plural, resource.group, name, MODIFIED) from None
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _carry_out(
        self, record: Record, old: JsonObject, marked: JsonObject, resource: Resource, *, goes: bool
    ) -> Written:
        """A mark that changes something is told first, also of an object that goes at once."""
        if not is_same(marked, old):
            record = await self._parts.store.update(
                record.key,
                facts_of(marked, resource),
                build_encoder(marked, resource, encode_stored),
                expected=record.revision,
            )
            if not goes:
                await self.tell(marked, resource)
        return Written(await self.remove(record, resource) if goes else record.body, deleted=goes)

    async def remove(self, record: Record, resource: Resource) -> bytes:
        """Gone as it was kept last: what the write that let it go would have changed is seen by nobody."""
        last: JsonObject = msgspec.json.decode(record.body)
        encode = build_encoder(last, resource, encode_stored)
        gone = await self._parts.store.delete(
            record.key, lambda revision, _current: encode(revision), expected=record.revision
        )
        await self.tell(last, resource, deleted=True)
        return gone.body

    async def tell(self, tree: JsonObject, resource: Resource, *, deleted: bool = False) -> None:
        """Those who listen, and then whoever has something to do because of it."""
        self._parts.after(tree, resource, deleted=deleted)
        await self._parts.admission.follow(tree, resource, self.delete, deleted=deleted)
