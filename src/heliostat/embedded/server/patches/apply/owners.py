"""The entries of ``metadata.managedFields``: who owns which fields, through which operation, since when.

An entry is known by its manager, operation, subresource and, for updates, apiVersion: whoever applies has one entry
for all versions. Entries stand applies first, then by time, manager, apiVersion and subresource.
"""

from typing import Any, TypeAlias

from msgspec import Struct

from heliostat.embedded.server.patches.apply.elements import ElementError
from heliostat.embedded.server.patches.apply.field_set import FieldSet, read_field_set, write_field_set
from heliostat.embedded.server.patches.go_values import go_text
from heliostat.kube.go_text import go_json, go_quote
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import TimestampError, parse_timestamp

APPLY, UPDATE = "Apply", "Update"


class ManagedFieldsError(ValueError):
    """Entries that cannot be read."""


class Owner(Struct, frozen=True):
    """Who, and by which operation; ``api_version`` is empty for an applier."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @property
    def sort_key(self) -> str:
        """The JSON form, which decides the order in messages."""
        given = (("apiVersion", self.api_version), ("subresource", self.subresource))
        rest = "".join(f',"{name}":{go_json(value)}' for name, value in given if value)
        manager = f'"manager":{go_json(self.manager)},' if self.manager else ""
        return f'{{{manager}"operation":{go_json(self.operation)}{rest}}}'


class Ownership(Struct, frozen=True):
    """The fields of one owner, as they were written in one version."""

    fields: FieldSet
    api_version: str


Owned: TypeAlias = dict[Owner, Ownership]


class Owners(Struct, frozen=True):
    """All entries of an object, and when each one last changed it."""

    owned: Owned = {}
    times: dict[Owner, str] = {}


def applier(manager: str, subresource: str = "") -> Owner:
    return Owner(manager or "unknown", APPLY, "", subresource)


def updater(manager: str, api_version: str, subresource: str = "") -> Owner:
    return Owner(manager or "unknown", UPDATE, api_version, subresource)


def read_owners(entries: Any) -> Owners:
    """From the wire form; raises ``ManagedFieldsError``."""
    owned, times = {}, {}
    for index, entry in enumerate(entries or ()):
        owner, ownership = _read_entry(entry, index)
        owned[owner] = ownership
        if entry.get("time"):
            times[owner] = entry["time"]
    return Owners(owned, times)


def write_owners(owners: Owners) -> list[JsonObject]:
    """The wire form, sorted."""
    entries = [_write_entry(owner, owned, owners.times.get(owner)) for owner, owned in owners.owned.items()]
    return sorted(entries, key=_entry_order)


def seconds_of(time: str | None) -> int:
    """Of a time of an entry; none counts as the beginning of time."""
    try:
        return int(parse_timestamp(time)) if time else 0
    except TimestampError:
        return 0


def _read_entry(entry: Any, index: int) -> tuple[Owner, Ownership]:
    if not isinstance(entry, dict) or entry.get("operation") not in (APPLY, UPDATE):
        raise ManagedFieldsError("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise ManagedFieldsError("apiVersion must not be empty")
    if entry.get("fieldsType") != "FieldsV1":
        kind = entry.get("fieldsType")
        problem = f"invalid fieldsType {go_quote(str(kind))}" if kind else "missing fieldsType"
        raise ManagedFieldsError(f"{problem} in managed fields entry {index}")
    version, operation = entry["apiVersion"], entry["operation"]
    key_version = "" if operation == APPLY else version
    owner = Owner(entry.get("manager") or "", operation, key_version, entry.get("subresource") or "")
    try:
        return owner, Ownership(read_field_set(entry.get("fieldsV1") or {}), version)
    except ElementError as problem:
        raise ManagedFieldsError(f"error decoding versioned set from {go_text(entry)}: {problem}") from None


def _write_entry(owner: Owner, ownership: Ownership, time: str | None) -> JsonObject:
    entry: JsonObject = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": ownership.api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": write_field_set(ownership.fields),
        "subresource": owner.subresource,
    }
    return {key: value for key, value in entry.items() if value or key == "fieldsV1"}


def _entry_order(entry: JsonObject) -> tuple[Any, ...]:
    names = (entry.get("manager", ""), entry["apiVersion"], entry.get("subresource", ""))
    return entry["operation"], seconds_of(entry.get("time")), *names
