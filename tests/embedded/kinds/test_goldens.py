"""Objects that a real server had filled in (KubeRay's recorded creates), against what is filled in here.

The recordings left out empty objects. Random, masked and version-dependent texts are not compared.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from golden_cases import GoldenCase, absence, cases
from heliostat.embedded.kinds.judging import new_object_causes
from heliostat.embedded.kinds.registry import rules_of
from heliostat.embedded.kinds.typed.typed_form import fit_type
from heliostat.kube.core_schema import CoreKind, find_kind
from heliostat.kube.documents import read_documents
from heliostat.kube.jsontree import copy_tree
from heliostat.plan.render import render_documents

pytestmark = [pytest.mark.slow, pytest.mark.skipif(absence() is not None, reason=absence() or "")]

MASKED = re.compile(
    r"NAMESPACE|RAND5|JOBID|TIME|UID|\bIP\b|kuberay_version=|^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$"
)
NOT_COMPARED = re.compile(
    r"\.metadata\.(name|generateName)$|annotations\.ray\.io/(kuberay-version|upgrade-strategy-recreate-hash"
    r"|external-storage-namespace)$|\.data\.auth_token$"
)
OTHER_KINDS = re.compile(r"fuzz/.[js]|scheduler-.*/r[js]")


def kind_of(tree: dict[str, Any]) -> tuple[CoreKind, str] | None:
    kind = find_kind(tree["apiVersion"], tree["kind"])
    if kind is None:
        return None
    group = kind.api_version.rpartition("/")[0]
    return kind, f"{kind.plural}.{group}" if group else kind.plural


def filled_in(tree: dict[str, Any]) -> dict[str, Any]:
    found = kind_of(tree)
    assert found is not None
    kind, storage_name = found
    tree = copy_tree(tree)
    assert fit_type(tree, kind.definition) == []
    fill_in = rules_of(storage_name).fill_in
    if fill_in is not None:
        fill_in(tree)
    return tree


def without_empty(tree: Any) -> Any:
    if isinstance(tree, dict):
        inner = {key: without_empty(value) for key, value in tree.items()}
        return {key: value for key, value in inner.items() if value != {}}
    return [without_empty(item) for item in tree] if isinstance(tree, list) else tree


def differences(recorded: Any, ours: Any, path: str = "") -> Iterator[str]:
    if NOT_COMPARED.search(path) or (isinstance(recorded, str) and MASKED.search(recorded)):
        return
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for key in sorted(recorded.keys() | ours.keys()):
            yield from differences(recorded.get(key), ours.get(key), f"{path}.{key}")
    elif isinstance(recorded, list) and isinstance(ours, list) and len(recorded) == len(ours):
        for index, (left, right) in enumerate(zip(recorded, ours, strict=True)):
            yield from differences(left, right, f"{path}[{index}]")
    elif recorded != ours:
        yield f"{path}: recorded {recorded!r}, ours {ours!r}"


def recorded_objects(case: GoldenCase) -> list[dict[str, Any]]:
    return [tree for tree in case.expected.get("creates", []) if kind_of(tree) is not None]


def test_what_a_real_server_filled_in_needs_nothing_more() -> None:
    count, wrong = 0, []
    for case in cases():
        for tree in recorded_objects(case):
            count += 1
            ours = without_empty(filled_in(tree))
            ours.pop("status", None)
            wrong += [f"{case}: {line}" for line in differences(without_empty(tree), ours)]
    assert wrong == []
    assert count > 1800


def as_if_sent(tree: dict[str, Any], storage_name: str) -> dict[str, Any]:
    """Masked words become names, and the object gets what a new one has."""
    text = msgspec.json.encode(tree)
    for word in (b"NAMESPACE", b"RAND5", b"JOBID", b"UID"):
        text = text.replace(word, word.lower())
    sent = filled_in(msgspec.json.decode(text))
    kept = {key: sent["metadata"][key] for key in ("labels", "annotations") if key in sent["metadata"]}
    sent["metadata"] = {**kept, "name": "x", "uid": "u", "creationTimestamp": "2020-01-01T00:00:00Z"}
    if storage_name == "pods":
        sent["spec"].setdefault("serviceAccountName", "default")  # as admission does
    start = rules_of(storage_name).start
    if start is not None:
        start(sent)
    return sent


def test_what_a_real_server_took_is_taken() -> None:
    wrong, count = [], 0
    for case in cases():
        for tree in recorded_objects(case):
            _kind, storage_name = kind_of(tree) or (None, "")
            if storage_name == "services":  # which are judged with the addresses they get
                continue
            count += 1
            wrong += [(str(case), cause) for cause in new_object_causes(as_if_sent(tree, storage_name), storage_name)]
    assert wrong == []
    assert count > 1400


def key_of(tree: dict[str, Any]) -> tuple[str, str]:
    metadata = tree["metadata"]
    if tree["kind"] == "Pod":
        return "Pod", (metadata.get("labels") or {}).get("ray.io/group", "")
    return tree["kind"], metadata.get("name", "")


def sorted_ports(tree: dict[str, Any]) -> dict[str, Any]:
    """KubeRay makes some Services' ports from a map, in any order."""
    if tree["kind"] == "Service":
        tree["spec"]["ports"] = sorted(
            tree["spec"].get("ports") or [], key=lambda port: (port["port"], port.get("name", ""))
        )
    return tree


def test_rendered_objects_are_filled_in_as_the_real_server_did() -> None:
    """Only defaults are judged: where the rendered object itself differs, the goldens of the plan tell."""
    compared, wrong = 0, []
    for case in cases():
        if OTHER_KINDS.match(str(case)):
            continue
        rendering = render_documents(read_documents(case.input.read_bytes(), case.input.name), "default", case.settings)
        ours: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for tree in rendering.objects:
            if kind_of(tree) is not None:
                ours[key_of(tree)].append(tree)
        for tree in recorded_objects(case):
            if ours[key_of(tree)]:
                compared += 1
                mine = without_empty(sorted_ports(filled_in(ours[key_of(tree)].pop(0))))
                mine.pop("status", None)
                wrong += [f"{case}: {line}" for line in differences(without_empty(sorted_ports(tree)), mine)]
    assert wrong == []
    assert compared > 1300
