"""``render`` against what KubeRay created: every recorded input, compared by the goldens' own compare.py.

RayCluster cases must be equal. Of a RayJob and a RayService everything that was recorded is there, and more where the
recording stopped before Ray answered. A deliberate difference would be named by its id of docs/differences.md.
"""

import json
import re
from typing import Any

import pytest
from msgspec import structs

from golden_cases import GoldenCase, absence, cases, load_compare
from heliostat.kube.documents import Document, read_documents
from heliostat.plan.render import render_documents

pytestmark = pytest.mark.skipif(absence() is not None, reason=absence() or "")

OWNER_KINDS = ("RayJob", "RayService")
NAMESPACE = "golden-namespace"  # the recording's own is masked as NAMESPACE
ORIGIN = "ray.io/originated-from-cr-name"


def name_as_recorded(document: Document, creates: list[dict[str, Any]]) -> Document:
    """An input with generateName got its name from the API server: take the one of the recording."""
    metadata = document.tree.get("metadata", {})
    if "generateName" not in metadata:
        return document
    clusters = [tree for tree in creates if tree["kind"] == "RayCluster"]
    name = clusters[0]["metadata"]["labels"][ORIGIN] if clusters else f"{metadata['generateName']}x"
    return structs.replace(document, tree={**document.tree, "metadata": {**metadata, "name": name}})


def mask_namespace(objects: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    masked: list[dict[str, Any]] = json.loads(json.dumps(objects).replace(NAMESPACE, "NAMESPACE"))
    return masked


def mask_cut_suffixes(objects: list[dict[str, Any]], owner: str) -> list[dict[str, Any]]:
    """Long owner names push the random suffix to where a name is cut; compare.py only knows whole suffixes."""
    text = json.dumps(objects)
    text = re.sub(rf"({re.escape(owner)}-)[a-z0-9]{{1,4}}(?=-(head|worker)-)", r"\1RAND", text)
    text = re.sub(r"-[a-z0-9]{5}-head-ingress", "-RAND5-head-ingress", text)
    masked: list[dict[str, Any]] = json.loads(text)
    return masked


@pytest.mark.parametrize("case", cases(), ids=str)
def test_render_creates_what_kuberay_created(case: GoldenCase) -> None:
    expected = case.expected
    read = read_documents(case.input.read_bytes(), case.input.name)
    documents = [name_as_recorded(document, expected["creates"]) for document in read]
    created = mask_namespace(render_documents(documents, NAMESPACE, case.settings).objects)
    wanted = expected["creates"]
    owners = [document.tree for document in documents if document.tree["kind"] in OWNER_KINDS]
    if owners:
        name = owners[0]["metadata"]["name"]
        created = mask_cut_suffixes(created, name)
        wanted = mask_cut_suffixes(wanted, name)
    problems = load_compare().compare({"creates": wanted}, created, subset=bool(owners))
    assert problems == []


def test_all_recorded_cases_are_found() -> None:
    assert len(cases()) == 489
