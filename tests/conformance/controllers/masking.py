"""What must differ between two runs of a scenario is taken out; everything else stays to be compared.

Rules: names that somebody drew (children of an owner, slices of a Service) keep their stem and end in ``<x>``; the hash
of a Pod template is ``<hash>``; uids are told by whose they are, moments are ``<time>``, chosen addresses and ports
``<address>`` and ``<port>``. Versions, managedFields and what the API server alone fills into Pod specs are left out.
Lists of objects, events, conditions and endpoints are sets: their order is chance. A Pod that could not be made has a
drawn name, or on the real side none yet (K40): both are told as ``<x>``.
"""

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from conformance.controllers.model import Json, Scenario, value_at
from conformance.controllers.story import Version

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\n?", re.DOTALL)
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_DRAWN = r"(\d+-)?[a-z0-9]{5}"  # the number is the index of an indexed Job's Pod
_NOT_MADE = re.compile(r'pods "([a-z0-9<>-]+)-([a-z0-9]{5})?" is forbidden')
_COMBINED = "(combined from similar events): "
_LEFT_OUT = ("managedFields", "resourceVersion", "selfLink")
_CONTAINER_FIELDS = ("name", "image", "env", "resources", "ports")
_POD_FIELDS = ("nodeName", "hostname", "subdomain", "schedulingGates", "priority")
_ADDRESSES = ("clusterIP", "clusterIPs")


class Masker:
    """Knows every object of a story, because one text may mention any other object."""

    def __init__(self, scenario: Scenario, versions: Iterable[Version]) -> None:
        self._spelled_out = msgspec.json.encode(scenario).decode()
        self._names: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        self._hashes: set[str] = set()
        trees = [(version.kind, version.tree) for version in versions]
        for _kind, tree in trees:
            self._note_hash(tree)
        for kind, tree in trees:
            self._note_name(kind, tree)
        for kind, tree in trees:
            metadata = tree["metadata"]
            self._uids[metadata["uid"]] = f"<uid of {kind} {self.text(metadata['name'])}>"

    def _note_hash(self, tree: Json) -> None:
        found = value_at(tree, "metadata.labels.pod-template-hash")
        if isinstance(found, str) and found not in self._spelled_out:
            self._hashes.add(found)

    def _note_name(self, kind: str, tree: Json) -> None:
        name = str(tree["metadata"]["name"])
        stem = _stem(kind, tree)
        if stem is None or f'"{name}"' in self._spelled_out:
            return
        drawn = re.fullmatch(rf"{re.escape(stem)}-{_DRAWN}", name)
        if drawn is not None:
            self._names[name] = f"{self._without_hashes(stem)}-{drawn[1] or ''}<x>"

    def _without_hashes(self, text: str) -> str:
        for found in self._hashes:
            text = text.replace(found, "<hash>")
        return text

    def text(self, text: str) -> str:
        for name, masked in self._names.items():
            if name in text:
                text = text.replace(name, masked)
        text = _NOT_MADE.sub(r'pods "\1-<x>" is forbidden', self._without_hashes(text))
        text = _UUID.sub(lambda match: self._uids.get(match[0], "<uid>"), text)
        return _CERTIFICATE.sub("<certificate>", _TIME.sub("<time>", text))

    def object(self, kind: str, tree: Json) -> Json:
        masked = self.tree(tree)
        masked.pop("apiVersion", None)
        masked.pop("kind", None)
        if kind == "Pod":
            masked["spec"] = _short_pod(masked["spec"])
        template = value_at(masked, "spec.template.spec")
        if isinstance(template, dict):
            masked["spec"]["template"]["spec"] = _short_pod(template)
        return masked

    def objects(self, kind: str, trees: Iterable[Json]) -> list[Json]:
        return _as_set(self.object(kind, tree) for tree in trees)

    def event(self, tree: Json) -> Json:
        regarding = tree.get("regarding") or {}
        return {
            "type": tree.get("type"),
            "reason": tree.get("reason"),
            "note": self.text(tree.get("note", "")).removeprefix(_COMBINED),
            "regarding": f"{regarding.get('kind')} {self.text(regarding.get('name', ''))}",
            "controller": tree.get("reportingController") or value_at(tree, "deprecatedSource.component"),
        }

    def events(self, trees: Iterable[Json]) -> list[Json]:
        """How often something was told is chance, too."""
        return _as_set((self.event(tree) for tree in trees), is_once=True)

    def tree(self, tree: Json, field: str = "") -> Json:
        if isinstance(tree, dict):
            return dict(self._entries(tree))
        if isinstance(tree, list):
            items = [self.tree(item, field) for item in tree]
            return sorted(items, key=_ORDERED[field]) if field in _ORDERED else items
        if field in _ADDRESSES and tree not in ("None", ""):
            return "<address>"
        if field == "nodePort":
            return "<port>"
        return self.text(tree) if isinstance(tree, str) else tree

    def _entries(self, tree: Json) -> Iterator[tuple[str, Json]]:
        for key, value in tree.items():
            if key not in _LEFT_OUT:
                yield self.text(key), self.tree(value, key)


def _stem(kind: str, tree: Json) -> str | None:
    """The name of what the object was made for."""
    if kind == "EndpointSlice":
        service = value_at(tree, "metadata.labels.kubernetes~io/service-name")
        return str(service) if service else None
    owners = tree["metadata"].get("ownerReferences") or ()
    controller = next((owner for owner in owners if owner.get("controller")), None)
    if controller is not None:
        return str(controller["name"])
    generated = tree["metadata"].get("generateName")
    return str(generated).removesuffix("-") if generated else None


def _type_of(condition: Json) -> str:
    return str(condition.get("type"))


def _addresses_of(endpoint: Json) -> str:
    return str(endpoint.get("addresses"))


_ORDERED: dict[str, Callable[[Json], str]] = {"conditions": _type_of, "endpoints": _addresses_of, "subsets": str}


def _short_pod(spec: Json) -> Json:
    kept = {name: spec[name] for name in _POD_FIELDS if name in spec}
    kept["containers"] = [
        {name: container[name] for name in _CONTAINER_FIELDS if name in container}
        for container in spec.get("containers", ())
    ]
    return kept


def _as_set(items: Iterable[Json], *, is_once: bool = False) -> list[Json]:
    encoded = [msgspec.json.encode(item, order="sorted") for item in items]
    ordered = sorted(set(encoded) if is_once else encoded)
    return [msgspec.json.decode(item) for item in ordered]
