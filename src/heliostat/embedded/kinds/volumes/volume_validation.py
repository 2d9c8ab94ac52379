"""Volumes of a Pod: each has one source and a name of its own, and files land below where they are mounted."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from heliostat.embedded.kinds.pods.downward_validation import field_reference_causes, resource_reference_causes
from heliostat.embedded.kinds.rules.causes import duplicate, each_invalid, forbidden, invalid, not_supported, required
from heliostat.embedded.kinds.rules.name_rules import dns1123_label_problems, dns1123_subdomain_problems
from heliostat.embedded.kinds.rules.resource_rules import read_quantity
from heliostat.embedded.kinds.rules.text_rules import backstep_problems, local_path_problems, mode_problems
from heliostat.embedded.kinds.volumes.claim_validation import claim_spec_causes
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

SourceRule: TypeAlias = Callable[[JsonObject, str], Iterator[Cause]]

_HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 1 << 32
_DOWNWARD_FIELDS = frozenset({"metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations",
                              "metadata.uid"})  # fmt: skip


def volume_causes(volumes: list[JsonObject], pod_name: str, path: str) -> tuple[dict[str, JsonObject], list[Cause]]:
    """The volumes that mounts may name, and what is wrong with any."""
    known: dict[str, JsonObject] = {}
    causes: list[Cause] = []
    made = {f"{pod_name}-{volume.get('name', '')}" for volume in volumes if pod_name and "ephemeral" in volume}
    for index, volume in enumerate(volumes):
        found = list(_one_volume(volume, pod_name, known, f"{path}[{index}]"))
        if found:
            causes += found
        else:
            known[volume["name"]] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in made:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            causes.append(invalid(f"{path}[{index}].persistentVolumeClaim.claimName", claim, why))
    return known, causes


def _one_volume(volume: JsonObject, pod_name: str, known: dict[str, JsonObject], path: str) -> Iterator[Cause]:
    name = volume.get("name", "")
    sources = [source for source in volume if source != "name"]
    if not sources:
        yield required(path, "must specify a volume type")
    for position, source in enumerate(sorted(sources, key=_source_order)):
        if position:
            yield forbidden(f"{path}.{source}", "may not specify more than 1 volume type")
        elif source in SOURCES:
            yield from SOURCES[source](volume[source], f"{path}.{source}")
    if "ephemeral" in volume and pod_name and name:
        claim = f"{pod_name}-{name}"
        for problem in dns1123_subdomain_problems(claim):
            yield invalid(f"{path}.name", name, f'PVC name "{claim}": {problem}')
    if not name:
        yield required(f"{path}.name")
    else:
        yield from each_invalid(f"{path}.name", name, dns1123_label_problems(name))
    if name in known:
        yield duplicate(f"{path}.name", name)


def _mode_causes(mode: int | None, path: str) -> list[Cause]:
    return each_invalid(path, mode, mode_problems(mode))


def _empty_dir(source: JsonObject, path: str) -> Iterator[Cause]:
    limit = source.get("sizeLimit")
    if limit is not None and read_quantity(limit).nano < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path(source: JsonObject, path: str) -> Iterator[Cause]:
    if not source.get("path"):
        yield required(f"{path}.path")
        return
    yield from each_invalid(f"{path}.path", source["path"], backstep_problems(source["path"]))
    kind = source.get("type", "")
    if kind not in _HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", kind, _HOST_PATH_TYPES)


def _secret(source: JsonObject, path: str) -> Iterator[Cause]:
    if not source.get("secretName"):
        yield required(f"{path}.secretName")
    yield from _files(source, path)


def _config_map(source: JsonObject, path: str) -> Iterator[Cause]:
    if not source.get("name"):
        yield required(f"{path}.name")
    yield from _files(source, path)


def _files(source: JsonObject, path: str) -> Iterator[Cause]:
    yield from _mode_causes(source.get("defaultMode"), f"{path}.defaultMode")
    for index, item in enumerate(source.get("items") or ()):
        yield from _key_to_path(item, f"{path}.items[{index}]")


def _key_to_path(item: JsonObject, path: str) -> Iterator[Cause]:
    for name in ("key", "path"):
        if not item.get(name):
            yield required(f"{path}.{name}")
    target = item.get("path", "")
    yield from each_invalid(f"{path}.path", target, local_path_problems(target))
    yield from _mode_causes(item.get("mode"), f"{path}.mode")


def _claim(source: JsonObject, path: str) -> Iterator[Cause]:
    if not source.get("claimName"):
        yield required(f"{path}.claimName")


def _ephemeral(source: JsonObject, path: str) -> Iterator[Cause]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield required(f"{path}.volumeClaimTemplate")
    else:
        yield from claim_spec_causes(template.get("spec") or {}, f"{path}.volumeClaimTemplate.spec")


def _downward(source: JsonObject, path: str) -> Iterator[Cause]:
    yield from _mode_causes(source.get("defaultMode"), f"{path}.defaultMode")
    for item in source.get("items") or ():
        yield from _downward_file(item, path)


def _downward_file(item: JsonObject, path: str) -> Iterator[Cause]:
    target = item.get("path", "")
    if not target:
        yield required(f"{path}.path")
    yield from each_invalid(f"{path}.path", target, local_path_problems(target))
    if "fieldRef" in item:
        yield from field_reference_causes(item["fieldRef"], _DOWNWARD_FIELDS, f"{path}.fieldRef")
        if "resourceFieldRef" in item:
            yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif "resourceFieldRef" in item:
        yield from resource_reference_causes(item["resourceFieldRef"], f"{path}.resourceFieldRef", in_volume=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _mode_causes(item.get("mode"), f"{path}.mode")


def _projected(source: JsonObject, path: str) -> Iterator[Cause]:
    yield from _mode_causes(source.get("defaultMode"), f"{path}.defaultMode")
    targets: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        if len(part) > 1:
            yield forbidden(at, "may not specify more than 1 volume type")
        yield from _projection(part, at, path)
        yield from _same_targets(part, targets, path)


def _projection(part: JsonObject, at: str, path: str) -> Iterator[Cause]:
    for kind in ("secret", "configMap"):
        if kind in part:
            if not part[kind].get("name"):
                yield required(f"{at}.{kind}.name")
            for index, item in enumerate(part[kind].get("items") or ()):
                yield from _key_to_path(item, f"{at}.{kind}.items[{index}]")
    for item in (part.get("downwardAPI") or {}).get("items") or ():
        yield from _downward_file(item, f"{at}.downwardAPI")
    if "serviceAccountToken" in part:
        yield from _token(part["serviceAccountToken"], f"{at}.serviceAccountToken", path)


def _token(token: JsonObject, at: str, path: str) -> Iterator[Cause]:
    seconds, target = token.get("expirationSeconds", 0), token.get("path", "")
    if seconds < _SHORTEST_TOKEN:
        yield invalid(f"{at}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST_TOKEN:
        yield invalid(f"{at}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    if not target:
        yield required(f"{path}.path")
    else:
        yield from each_invalid(f"{path}.path", target, local_path_problems(target))


def _same_targets(part: JsonObject, targets: set[str], path: str) -> Iterator[Cause]:
    for kind in ("secret", "configMap", "downwardAPI"):
        for item in (part.get(kind) or {}).get("items") or ():
            target = item.get("path", "")
            if target and target in targets:
                shown = target if kind == "downwardAPI" else part[kind].get("name", "")
                yield invalid(path, shown, "conflicting duplicate paths")
            targets.add(target)


def _nfs(source: JsonObject, path: str) -> Iterator[Cause]:
    for name in ("server", "path"):
        if not source.get(name):
            yield required(f"{path}.{name}")
    if source.get("path") and not source["path"].startswith("/"):
        yield invalid(f"{path}.path", source["path"], "must be an absolute path")


def _csi(source: JsonObject, path: str) -> Iterator[Cause]:
    if not source.get("driver"):
        yield required(f"{path}.driver")


# In the order in which they are judged: of several, the first is the volume's type.
SOURCES: dict[str, SourceRule] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "secret": _secret,
    "nfs": _nfs,
    "persistentVolumeClaim": _claim,
    "downwardAPI": _downward,
    "configMap": _config_map,
    "projected": _projected,
    "csi": _csi,
    "ephemeral": _ephemeral,
}
_ORDER = {name: position for position, name in enumerate(SOURCES)}


def _source_order(source: str) -> int:
    return _ORDER.get(source, len(_ORDER))
