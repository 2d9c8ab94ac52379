"""What a plan writes on the very object that it is about: its finalizers and its status.

Such an object is read as a struct, and may be one whose spec cannot be read: its metadata is all that is needed here.
"""

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import ObjectMeta
from heliostat.kube.plan import SILENT, Patch, Ref, Report, WriteStatus


def ref_of_itself(kind: str, metadata: ObjectMeta) -> Ref:
    return Ref("ray.io/v1", kind, metadata.namespace, metadata.name)


def write_own_status(
    kind: str, metadata: ObjectMeta, status: JsonObject, because: str, introduces: tuple[str, ...] = ()
) -> WriteStatus:
    ref = ref_of_itself(kind, metadata)
    return WriteStatus(ref, metadata.uid, metadata.resource_version, status, because, introduces)


class Finalizer(Struct, frozen=True):
    """Of one kind: an object that has it is not gone before the operator lets it go. Those of others stay."""

    kind: str
    name: str

    def is_on(self, metadata: ObjectMeta) -> bool:
        return self.name in (metadata.finalizers or ())

    def put_on(self, metadata: ObjectMeta, because: str, more: JsonObject | None = None) -> Patch:
        """``more`` is changed with it."""
        return self._write(metadata, [*(metadata.finalizers or ()), self.name], because, SILENT, more)

    def take_off(self, metadata: ObjectMeta, because: str, report: Report = SILENT) -> Patch:
        return self._write(metadata, self._list_others(metadata), because, report)

    def _list_others(self, metadata: ObjectMeta) -> list[str]:
        return [name for name in metadata.finalizers or () if name != self.name]

    def _write(
        self, metadata: ObjectMeta, finalizers: list[str], because: str, report: Report, more: JsonObject | None = None
    ) -> Patch:
        changes = {"metadata": {"finalizers": finalizers or None}, **(more or {})}
        ref = ref_of_itself(self.kind, metadata)
        return Patch(ref, metadata.uid, metadata.resource_version, changes, because, report)
