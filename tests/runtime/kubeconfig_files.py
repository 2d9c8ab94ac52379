"""Kubeconfigs for tests, and certificates to put into them."""

from base64 import b64encode
from pathlib import Path
from typing import Any

from heliostat.embedded.access.certificates import build_authority, build_client_certificate
from heliostat.kube.jsontree import encode_json

NOW = 1_800_000_000.0
AUTHORITY = build_authority(NOW)
CLIENT = build_client_certificate(AUTHORITY, "ann", [], NOW)
CANARY = "canary-8d1f6a"


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def config(
    user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, name: str = "one", **more: Any
) -> dict[str, Any]:
    """One cluster, one user and one context of the same name."""
    return {
        "kind": "Config",
        "apiVersion": "v1",
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443"} if cluster is None else cluster}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
        **more,
    }


def write(folder: Path, tree: dict[str, Any], name: str = "config") -> Path:
    path = folder / name
    path.write_bytes(encode_json(tree))
    return path
