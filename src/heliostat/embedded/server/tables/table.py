"""Objects into one Table: headings once, a row for each object, and as much of the object as was asked for."""

from collections.abc import Sequence

from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.tables.printers import ROW_CONDITIONS, columns_of
from heliostat.kube.jsontree import JsonObject

METADATA, OBJECT, NOTHING = "Metadata", "Object", "None"
INCLUDES = (METADATA, OBJECT, NOTHING)


class TablePrinter:
    """For objects of one kind; ``version`` is the Table's own, ``include`` what of the object each row carries."""

    def __init__(self, resource: Resource, kind: str, version: str = "v1", include: str = METADATA) -> None:
        self._resource = resource
        self._kind = kind
        self._include = include
        self._api_version = f"meta.k8s.io/{version}"
        self._columns = columns_of(resource, kind)
        self._judge = ROW_CONDITIONS.get(resource.storage_name)

    def build_row(self, tree: JsonObject, now: float) -> JsonObject:
        """An item of a list may go without its own kind."""
        row: JsonObject = {"cells": [column.cell(tree, now) for column in self._columns]}
        conditions = self._judge(tree) if self._judge is not None else []
        if conditions:
            row["conditions"] = conditions
        row["object"] = self._carried(tree)
        return row

    def build_table(self, rows: Sequence[JsonObject], meta: JsonObject, *, headings: bool = True) -> JsonObject:
        return {
            "kind": "Table",
            "apiVersion": self._api_version,
            "metadata": meta,
            "columnDefinitions": [column.definition for column in self._columns] if headings else None,
            "rows": rows,
        }

    def build_table_of_one(self, tree: JsonObject, now: float, *, headings: bool = True) -> JsonObject:
        meta = {"resourceVersion": tree["metadata"].get("resourceVersion", "")}
        return self.build_table([self.build_row(tree, now)], meta, headings=headings)

    def _carried(self, tree: JsonObject) -> JsonObject | None:
        if self._include == NOTHING:
            return None
        if self._include == METADATA:
            return build_partial(tree, self._api_version)
        return {"kind": self._kind, "apiVersion": self._resource.api_version, **tree}


def build_partial(tree: JsonObject, api_version: str) -> JsonObject:
    """The object's metadata alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": tree["metadata"]}
