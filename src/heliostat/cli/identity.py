"""Whether a document names its object: what a request's path is made of. The rest is for the server."""

from typing import Any

from heliostat.cli.errors import CommandError
from heliostat.kube.documents import Document
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.titles import title_of


def check_identity(document: Document) -> None:
    """Raises CommandError."""
    problem = find_identity_problem(document.tree)
    if problem:
        raise CommandError(f"{document.source}:{document.line_of(('metadata',))}: {problem}", 1)


def find_identity_problem(tree: JsonObject) -> str:
    """Empty: none."""
    if any(not isinstance(tree.get(key), str) or not tree[key] for key in ("apiVersion", "kind")):
        return "the document has no apiVersion or no kind; every object needs both"
    metadata: Any = tree.get("metadata") or {}
    if not isinstance(metadata, dict):
        return f"{title_of(tree)}: metadata must be a map, such as metadata: {{name: demo}}"
    for key in ("name", "namespace"):
        if not isinstance(metadata.get(key) or "", str):
            return f'{title_of(tree)}: metadata.{key} must be text; write {key}: "{metadata[key]}"'
    return "" if metadata.get("name") else f"the {tree['kind']} has no metadata.name; give it one"
