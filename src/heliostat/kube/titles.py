"""What a document is called in a sentence: its kind and its name, however broken the rest of it is."""

from typing import Any


def title_of(tree: Any) -> str:
    kind = tree.get("kind") if isinstance(tree, dict) else None
    shown = kind if isinstance(kind, str) and kind else "a document without a kind"
    return f"{shown} {name_in(tree)}".rstrip()


def name_in(tree: Any) -> str:
    """``metadata.name``; empty when there is none."""
    return text_in_metadata(tree, "name")


def text_in_metadata(tree: Any, key: str) -> str:
    metadata = tree.get("metadata") if isinstance(tree, dict) else None
    found = metadata.get(key) if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""
