"""Records as rows: one row per mutation, written in groups with one statement, read back in the order of revisions.

Rules: a group is one INSERT outside a transaction, hence atomic and durable in one call (each further call would hand
Python's interpreter lock over once more); loading replays the rows through the same model that serves them, so restart
and normal running cannot disagree; rows that an interrupted compaction left behind are found while loading, and so is
a hole in the history after it.
"""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.records import Event, Facts, Record
from heliostat.embedded.storage.revisions import Revisions

GROUP_MAX = 64

_encode_facts = msgspec.msgpack.Encoder().encode
_decode_facts = msgspec.msgpack.Decoder(Facts).decode


def insert_events(connection: sqlite3.Connection, events: Sequence[Event]) -> None:
    """Make at most GROUP_MAX events durable, all or none."""
    values: list[object] = []
    for event in events:
        record, key = event.record, event.record.key
        values += (record.revision, event.deleted, key.resource, key.namespace, key.name)
        values += (_encode_facts(record.facts), record.body)
    connection.execute(_build_insert(len(events)), values)


@lru_cache(GROUP_MAX)
def _build_insert(rows: int) -> str:
    return f"INSERT INTO log VALUES {','.join(['(?,?,?,?,?,?,?)'] * rows)}"  # noqa: S608 placeholders only


def delete_rows(connection: sqlite3.Connection, revisions: Sequence[int]) -> None:
    places = ",".join("?" * len(revisions))
    connection.execute(f"DELETE FROM log WHERE revision IN ({places})", revisions)  # noqa: S608 placeholders only


def load_rows(connection: sqlite3.Connection, compacted: int) -> tuple[Revisions, list[int]]:
    """The model, and the revisions of rows that compaction has not removed yet."""
    model = Revisions()
    shared: dict[str, str] = {}  # resources and namespaces: one text for all their objects
    rows = connection.execute("SELECT * FROM log ORDER BY revision")
    for revision, deleted, resource, namespace, name, facts, body in rows:
        if revision > max(compacted, model.revision) + 1:
            raise ValueError(f"changes {max(compacted, model.revision) + 1} to {revision - 1} are missing")
        key = Key(shared.setdefault(resource, resource), shared.setdefault(namespace, namespace), name)
        record = Record(key, revision, _decode_facts(facts), body)
        model.apply(Event(record, model.get(key), bool(deleted)))
    return model, model.compact(compacted)
