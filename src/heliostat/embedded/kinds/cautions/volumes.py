"""Volumes of a Pod: plugins that do nothing any more, and files of one volume that lie in each other's way."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec import Struct

from heliostat.embedded.kinds.cautions.amounts import claim_spec_cautions
from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject

DEPRECATED_PLUGINS = {  # in the order in which they are told
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageOS": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}


_DEEPEST = 100  # directories of a path that are looked at


class _File(Struct, frozen=True):
    path: str
    source: str = ""

    def __str__(self) -> str:
        return f"{go_quote(self.path)} ({self.source})" if self.source else go_quote(self.path)


def volume_cautions(volumes: list[JsonObject], path: str) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        yield from _plugin_cautions(volume, f"{path}[{index}]")
    for volume in volumes:
        yield from _overlap_cautions(volume)


def _plugin_cautions(volume: JsonObject, path: str) -> Iterator[str]:
    for plugin, why in DEPRECATED_PLUGINS.items():
        if plugin == "cephfs":
            template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
            if template:
                yield from claim_spec_cautions(template.get("spec") or {}, f"{path}.ephemeral.volumeClaimTemplate.spec")
        if plugin in volume:
            yield f"{path}.{plugin}: {why}"


def _overlap_cautions(volume: JsonObject) -> Iterator[str]:
    name = go_quote(volume.get("name", ""))
    for kind, described in _plain_sources(volume):
        files = [_File(item.get("path", "")) for item in volume[kind].get("items") or ()]
        for told in _overlaps(files):
            yield f"volume {name} ({described}): overlapping paths: {told}"
    if "projected" in volume:
        sources = volume["projected"].get("sources") or ()
        for source in sources:
            if not source:
                yield f"volume {name} (Projected) has no sources provided"
        files = [file for source in sources for file in _projected_files(source)]
        for told in _overlaps(files):
            yield f"volume {name} (Projected): overlapping paths: {told}"


def _plain_sources(volume: JsonObject) -> Iterator[tuple[str, str]]:
    if "configMap" in volume:
        yield "configMap", f"ConfigMap {go_quote(volume['configMap'].get('name', ''))}"
    if "secret" in volume:
        yield "secret", f"Secret {go_quote(volume['secret'].get('secretName', ''))}"
    if "downwardAPI" in volume:
        yield "downwardAPI", "DownwardAPI"


def _projected_files(source: JsonObject) -> list[_File]:
    for kind, described in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        part: dict[str, Any] = source.get(kind) or {}
        if part.get("items") is not None:
            named = described if kind == "downwardAPI" else f"{described} {go_quote(part.get('name', ''))}"
            return [_File(item.get("path", ""), named) for item in part["items"]]
    if "serviceAccountToken" in source:
        return [_File(source["serviceAccountToken"].get("path", ""), "ServiceAccountToken")]
    if "clusterTrustBundle" in source:
        bundle = source["clusterTrustBundle"]
        named = bundle.get("name") or bundle.get("signerName") or ""
        return [_File(bundle.get("path", ""), f"ClusterTrustBundle {go_quote(named)}")]
    return []


def _overlaps(files: list[_File]) -> Iterator[str]:
    """Each file with those before it that are the same file, or a directory of it, or inside it."""
    seen: list[_File] = []
    at: dict[str, list[int]] = {}  # where a path was seen
    below: dict[str, list[int]] = {}  # where one inside a directory was seen
    for given in files:
        file = _File(given.path.rstrip("/"), given.source)
        if file.path:
            above = _directories(file.path)
            alike = {index for path in (file.path, *above) for index in at.get(path, ())}
            for index in sorted(alike.union(below.get(file.path, ()))):
                yield f"{file} with {seen[index]}"
            at.setdefault(file.path, []).append(len(seen))
            for path in above:
                below.setdefault(path, []).append(len(seen))
        seen.append(file)


def _directories(path: str) -> list[str]:
    ends = (index for index, character in enumerate(path) if character == "/")
    return [path[:index] for index in islice(ends, _DEEPEST)]
