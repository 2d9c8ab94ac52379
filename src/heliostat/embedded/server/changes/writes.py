"""The one way to write: create, update, patch and delete, for every kind alike.

An object is judged whole (shape, names, admission) before it is written; each kind of write is a module of its own.
"""

from heliostat.embedded.server.changes.changing import Change, Changing
from heliostat.embedded.server.changes.creation import Creation
from heliostat.embedded.server.changes.delete_options import DeleteOptions
from heliostat.embedded.server.changes.removal import Removal
from heliostat.embedded.server.changes.writing import WriteOptions, WriteParts, Written
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject


class Writer:
    def __init__(self, parts: WriteParts) -> None:
        self._parts = parts
        self._removal = Removal(parts)
        self._creation = Creation(parts, self._removal)
        self._changing = Changing(parts, self._removal, self._creation)

    def read(self, tree: JsonObject, resource: Resource, options: WriteOptions) -> None:
        """What is answered and not written: of the right types, like everything else."""
        self._parts.read(tree, resource, options)

    async def create(self, tree: JsonObject, resource: Resource, namespace: str, options: WriteOptions) -> Written:
        return await self._creation.create(tree, resource, namespace, options)

    async def update(
        self, tree: JsonObject, resource: Resource, namespace: str, name: str, options: WriteOptions
    ) -> Written:
        """Replace by the client's object, which may name the version it was made from."""
        return await self._changing.update(tree, resource, namespace, name, options)

    async def change(
        self, resource: Resource, namespace: str, name: str, change: Change, options: WriteOptions
    ) -> Written:
        """Write ``change(old)``; unless it names a version it is tried again when somebody else was faster."""
        return await self._changing.change(resource, namespace, name, change, options)

    async def delete(self, resource: Resource, namespace: str, name: str, options: DeleteOptions) -> Written:
        """``deleted`` tells whether the object is gone; if not, the body is the object that waits to go."""
        return await self._removal.delete(resource, namespace, name, options)
