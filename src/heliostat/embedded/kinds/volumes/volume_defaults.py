"""What kube-apiserver fills into a Pod's volumes: a source, file modes, and the parts of projections."""

from collections.abc import Callable

from heliostat.embedded.kinds.pods.container_defaults import fill_field_reference
from heliostat.kube.jsontree import JsonObject

FILE_MODE = 0o644
TOKEN_SECONDS = 3600


def fill_volume(volume: JsonObject) -> None:
    sources = volume.keys() - {"name"}
    if not sources:
        volume["emptyDir"] = {}
    for source in sources & _RULES.keys():
        _RULES[source](volume[source])


def _fill_files(source: JsonObject) -> None:
    source.setdefault("defaultMode", FILE_MODE)


def _fill_downward(source: JsonObject) -> None:
    _fill_files(source)
    _fill_references(source)


def _fill_references(source: JsonObject) -> None:
    for item in source.get("items") or ():
        if "fieldRef" in item:
            fill_field_reference(item["fieldRef"])


def _fill_projected(source: JsonObject) -> None:
    _fill_files(source)
    for part in source.get("sources") or ():
        if "serviceAccountToken" in part:
            part["serviceAccountToken"].setdefault("expirationSeconds", TOKEN_SECONDS)
        if "downwardAPI" in part:
            _fill_references(part["downwardAPI"])


def _fill_host_path(source: JsonObject) -> None:
    source.setdefault("type", "")


def _fill_ephemeral(source: JsonObject) -> None:
    template = source.get("volumeClaimTemplate")
    if template is not None:
        template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


_RULES: dict[str, Callable[[JsonObject], None]] = {
    "secret": _fill_files,
    "configMap": _fill_files,
    "downwardAPI": _fill_downward,
    "projected": _fill_projected,
    "hostPath": _fill_host_path,
    "ephemeral": _fill_ephemeral,
}
