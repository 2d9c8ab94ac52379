"""The generated CRDs: equal to KubeRay's, and unable to drift unnoticed."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from heliostat.api.crds import VARIANT_ANNOTATION, all_crds, build_crd
from heliostat.api.creation_rules import CREATION_RULES, creation_rule
from heliostat.api.kinds import KINDS
from heliostat.kube import core_schema
from heliostat.kube.schema import check

OWN_METADATA = ("metadata", "annotations")

# What `sha256` says of each CRD as JSON with sorted keys. A change here is a change of the API: look twice.
SNAPSHOTS = {
    ("RayCluster", False): "08375f4af17dd21d011328184cbef68801e6efdf5be1527a5fdc2f3586c0d60a",
    ("RayCluster", True): "a7356a57cbc2953acc435a099e7a434f01800136ecfa5b22102c8c355e71a1ad",
    ("RayJob", False): "77903b5c842f899c2e7fe3858d0a9c4eb9c3924ce4f63a8f5988f7a9e18b84be",
    ("RayJob", True): "1a47ca650a2d40877abd1a7d13519cde58ca5c75313a5ad82fda36fa8bf624dd",
    ("RayService", False): "6ea1bd23923cacf63b36926330f6e98a13340fb6b81b6d21166cd872a8314c82",
    ("RayService", True): "e05c9abfb75942289684eceb0def38c00931c2c6505831e8c5b8f16307f36c69",
    ("RayCronJob", False): "aa58ec0a41640ee02085a0bdf2f2cc9503a0a81c4702db1df251f05c77172f71",
    ("RayCronJob", True): "50b7af32784a2b3a3473451a766f52fc99ad48abd97f019e2539d13712adc27a",
}


def shared_crds() -> Path:
    shared = os.environ.get("HELIOSTAT_SHARED")
    return (Path(shared) if shared else Path(__file__).resolve().parents[3] / "shared") / "crds"


def differences(ours: Any, theirs: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every path at which two JSON trees differ, in words."""
    if path == OWN_METADATA:
        return
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            yield from differences(ours.get(key, "(absent)"), theirs.get(key, "(absent)"), (*path, key))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(*pair, (*path, str(index)))
    elif ours != theirs or type(ours) is not type(theirs):
        yield f"{'.'.join(path)}: ours {str(ours)[:100]}, theirs {str(theirs)[:100]}"


@pytest.mark.parametrize("kind", KINDS)
def test_the_full_crd_equals_kuberays(kind: str) -> None:
    path = shared_crds() / f"ray.io_{kind.lower()}s.json"
    if not path.exists():
        pytest.skip(f"no {path}: set HELIOSTAT_SHARED to the folder that holds crds/")
    found = list(differences(build_crd(kind), msgspec.json.decode(path.read_bytes())))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("kind", "slim"), SNAPSHOTS)
def test_the_crds_are_those_of_the_last_look(kind: str, slim: bool) -> None:
    text = msgspec.json.encode(build_crd(kind, slim), order="sorted")
    assert hashlib.sha256(text).hexdigest() == SNAPSHOTS[kind, slim]


@pytest.mark.parametrize("slim", [False, True])
def test_the_crds_are_valid_custom_resource_definitions(slim: bool) -> None:
    schema = {"$ref": "apiextensions.v1.CustomResourceDefinition"}
    for crd in all_crds(slim):
        assert list(check(crd, schema, (), core_schema.definition)) == []
        assert crd["metadata"]["annotations"] == {VARIANT_ANNOTATION: "slim" if slim else "full"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_slim_crd_is_small(kind: str) -> None:
    assert len(msgspec.json.encode(build_crd(kind, slim=True))) < 60_000


@pytest.mark.parametrize("kind", KINDS)
def test_the_slim_crd_differs_from_the_full_one_only_where_core_objects_begin(kind: str) -> None:
    for full, slim in zip(build_crd(kind)["spec"]["versions"], build_crd(kind, True)["spec"]["versions"], strict=True):
        for change in differences(slim, full):
            parent = change.split(":", 1)[0].rpartition(".")[0]
            assert is_open(slim, parent.split(".")), change


def is_open(tree: Any, path: list[str]) -> bool:
    """Whether the path leads to, or below, an object that takes any fields."""
    for key in path:
        if isinstance(tree, dict) and tree.get("x-kubernetes-preserve-unknown-fields"):
            return True
        tree = tree[int(key)] if isinstance(tree, list) else tree.get(key)
    return isinstance(tree, dict) and bool(tree.get("x-kubernetes-preserve-unknown-fields"))


def rules(tree: Any) -> Iterator[str]:
    if isinstance(tree, dict):
        for rule in tree.get("x-kubernetes-validations", ()):
            yield rule["rule"]
        for child in tree.values():
            yield from rules(child)
    elif isinstance(tree, list):
        for child in tree:
            yield from rules(child)


def test_every_rule_has_a_predicate_or_speaks_about_updates() -> None:
    found = {rule for crd in all_crds() for rule in rules(crd)}
    of_updates = {rule for rule in found if "oldSelf" in rule}
    assert found - of_updates == set(CREATION_RULES)
    assert all(creation_rule(rule) is None for rule in of_updates)


def test_no_two_places_of_a_crd_share_a_value() -> None:
    """A YAML writer would turn shared values into anchors, which the API server's tools do not all read."""
    seen: set[int] = set()

    def visit(tree: Any) -> None:
        if isinstance(tree, (dict, list)):
            assert id(tree) not in seen
            seen.add(id(tree))
            for child in tree.values() if isinstance(tree, dict) else tree:
                visit(child)

    crds = all_crds() + all_crds(slim=True)
    visit(crds)
