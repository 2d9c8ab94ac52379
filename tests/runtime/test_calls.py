"""Paths, queries and bodies of what the loop asks for."""

from typing import Any

import msgspec
import pytest

from heliostat.kube.resource_types import ResourceType
from heliostat.runtime import calls
from heliostat.runtime.calls import METADATA, METADATA_LIST, Selection
from heliostat.runtime.errors import InvalidError
from heliostat.runtime.transport import JSON, MERGE_PATCH, Call

PODS = ResourceType("v1", "Pod", "pods")
JOBS = ResourceType("batch/v1", "Job", "jobs")
NODES = ResourceType("v1", "Node", "nodes", is_namespaced=False)
BINDINGS = ResourceType("v1", "Binding", "pods", subresource="binding")


def tree(kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"kind": kind, "apiVersion": "v1", "metadata": metadata}


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (calls.get_call(PODS, "a", "b"), "GET /api/v1/namespaces/a/pods/b"),
        (calls.get_call(NODES, "", "n"), "GET /api/v1/nodes/n"),
        (calls.list_call(Selection(JOBS)), "GET /apis/batch/v1/jobs"),
        (calls.list_call(Selection(JOBS, "a")), "GET /apis/batch/v1/namespaces/a/jobs"),
        (calls.create_call(PODS, tree("Pod", "b", "a")), "POST /api/v1/namespaces/a/pods"),
        (calls.create_call(NODES, tree("Node", "n")), "POST /api/v1/nodes"),
        (calls.create_call(BINDINGS, tree("Binding", "b", "a")), "POST /api/v1/namespaces/a/pods/b/binding"),
        (calls.patch_call(PODS, "a", "b", {}, "status"), "PATCH /api/v1/namespaces/a/pods/b/status"),
        (calls.replace_call(PODS, tree("Pod", "b", "a"), "status"), "PUT /api/v1/namespaces/a/pods/b/status"),
        (calls.delete_call(PODS, "a", "b", uid="u"), "DELETE /api/v1/namespaces/a/pods/b"),
    ],
)
def test_every_verb_has_its_path(call: Call, shown: str) -> None:
    assert str(call) == shown


def test_a_list_asks_only_for_what_is_set() -> None:
    assert calls.list_call(Selection(PODS)).query == ()
    full = calls.list_call(
        Selection(PODS, "a", "x=y", "spec.nodeName=n"),
        limit=500,
        continue_token="t",
        resource_version="7",
        match="Exact",
    )
    assert dict(full.query) == {
        "labelSelector": "x=y",
        "fieldSelector": "spec.nodeName=n",
        "limit": "500",
        "continue": "t",
        "resourceVersion": "7",
        "resourceVersionMatch": "Exact",
    }


@pytest.mark.parametrize(
    ("initial_events", "version", "more"),
    [
        (True, "", {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}),
        (False, "7", {"resourceVersion": "7"}),
    ],
)
def test_a_watch_begins_with_a_list_or_from_a_version(initial_events: bool, version: str, more: dict[str, str]) -> None:
    call = calls.watch_call(
        Selection(PODS), resource_version=version, initial_events=initial_events, timeout_seconds=300
    )
    assert dict(call.query) == {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "300", **more}


def test_only_metadata_is_a_matter_of_accept() -> None:
    whole, slim = Selection(PODS), Selection(PODS, metadata_only=True)
    watch = calls.watch_call(slim, resource_version="", initial_events=False, timeout_seconds=1)
    assert (calls.list_call(whole).accept, calls.list_call(slim).accept, watch.accept) == (
        JSON,
        METADATA_LIST,
        METADATA,
    )


def test_a_patch_is_a_merge_patch() -> None:
    call = calls.patch_call(PODS, "a", "b", {"metadata": {"labels": {"x": None}}})
    assert (call.content_type, call.body) == (MERGE_PATCH, b'{"metadata":{"labels":{"x":null}}}')


def test_a_delete_names_what_it_means() -> None:
    call = calls.delete_call(PODS, "a", "b", uid="u", resource_version="7", propagation="Background", grace_seconds=0)
    assert msgspec.json.decode(call.body) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Background",
        "gracePeriodSeconds": 0,
    }
    plain = msgspec.json.decode(calls.delete_call(PODS, "a", "b", uid="u").body)
    assert plain == {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "u"}}


@pytest.mark.parametrize(
    ("namespace", "name"), [("a", ""), ("a", "b/c"), ("a", ".."), ("", "b"), ("a/b", "c"), ("..", "b")]
)
def test_what_is_no_name_never_becomes_a_path(namespace: str, name: str) -> None:
    with pytest.raises(InvalidError, match="name"):
        calls.delete_call(PODS, namespace, name, uid="u")


def test_a_delete_without_a_uid_is_refused() -> None:
    with pytest.raises(InvalidError, match="without a UID"):
        calls.delete_call(PODS, "a", "b", uid="")
