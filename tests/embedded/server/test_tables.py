"""Tables: the columns kubectl shows, what stands in them, and how a server sends them."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.server.asking import DEFINITIONS, TABLE, ask, ask_tree, thing_definition
from embedded.server.inprocess import ADMIN, MAPS, NOW, Client, config_map, serve
from embedded.server.rows import REGISTRY, ago, resource, row
from heliostat.embedded.server.messages import Request, Stream
from heliostat.embedded.server.tables.columns import DEFAULT
from heliostat.embedded.server.tables.printers import BUILTIN, columns_of
from heliostat.embedded.server.tables.table import TablePrinter

TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j:2"}]}}
SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["y", "x"]}]}
TARGET = {"kind": "Deployment", "name": "d"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}}
CPU_NOW = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 33}}}


@pytest.mark.parametrize(
    ("place", "tree", "cells"),
    [
        (
            ("apps", "v1", "deployments"),
            {"spec": {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE},
             "status": {"readyReplicas": 2, "updatedReplicas": 1}},
            {"Ready": "2/3", "Up-to-date": 1, "Available": 0, "Age": "90s", "Containers": "a,b", "Images": "i:1,j:2",
             "Selector": "a=b,c in (x,y)"},
        ),
        (
            ("apps", "v1", "replicasets"),
            {"spec": {"replicas": 3}, "status": {"replicas": 2}},
            {"Desired": 3, "Current": 2},
        ),
        (("apps", "v1", "statefulsets"), {"spec": {"replicas": 3}}, {"Ready": "0/3"}),
        (
            ("apps", "v1", "daemonsets"),
            {"spec": {"template": {"spec": {"nodeSelector": {"b": "2", "a": "1"}}}},
             "status": {"desiredNumberScheduled": 5}},
            {"Desired": 5, "Node Selector": "a=1,b=2", "Selector": "<none>"},
        ),
        (
            ("apps", "v1", "controllerrevisions"),
            {"revision": 7, "metadata": {"name": "x", "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": True}]}},
            {"Controller": "statefulset.apps/s", "Revision": 7},
        ),
        (
            ("batch", "v1", "jobs"),
            {"spec": {"completions": 3}, "status": {"succeeded": 1, "startTime": ago(600), "completionTime": ago(300)}},
            {"Status": "Running", "Completions": "1/3", "Duration": "5m"},
        ),
        (
            ("batch", "v1", "jobs"),
            {"spec": {"parallelism": 4}, "status": {"startTime": ago(60), "conditions": [
                {"type": "Suspended", "status": "True"}]}},
            {"Status": "Suspended", "Completions": "0/1 of 4", "Duration": "60s"},
        ),
        (("batch", "v1", "jobs"), {"metadata": {"deletionTimestamp": ago(1)}}, {"Status": "Terminating"}),
        (
            ("batch", "v1", "cronjobs"),
            {"spec": {"schedule": "@daily", "suspend": False}, "status": {"active": [{}], "lastScheduleTime": ago(60)}},
            {"Schedule": "@daily", "Timezone": "<none>", "Suspend": "False", "Active": 1, "Last Schedule": "60s"},
        ),
        (
            ("", "v1", "services"),
            {"spec": {"type": "NodePort", "clusterIP": "10.0.0.1", "externalIPs": ["1.1.1.1", "2.2.2.2"],
                      "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}},
            {"Type": "NodePort", "External-IP": "1.1.1.1,2.2.2.2", "Port(s)": "80:30080/TCP,53/UDP"},
        ),
        (
            ("", "v1", "services"),
            {"spec": {"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]},
             "status": {"loadBalancer": {"ingress": [{"ip": "8.8.8.8"}, {"hostname": "a.b"}, {"ip": "7.7.7.7"}]}}},
            {"External-IP": "7.7.7.7,8.8.8.8,a.b,9.9.9.9", "Port(s)": "<none>", "Cluster-IP": "<none>"},
        ),
        (("", "v1", "services"), {"spec": {"type": "LoadBalancer"}}, {"External-IP": "<pending>"}),
        (("", "v1", "services"), {"spec": {"type": "ExternalName", "externalName": "x.y"}}, {"External-IP": "x.y"}),
        (
            ("", "v1", "endpoints"),
            {"subsets": [{"addresses": [{"ip": "1.1.1.1"}, {"ip": "fd00::1"}], "ports": [{"port": 80}, {"port": 81}]}]},
            {"Endpoints": "1.1.1.1:80,[fd00::1]:80,1.1.1.1:81 + 1 more..."},
        ),
        (
            ("discovery.k8s.io", "v1", "endpointslices"),
            {"addressType": "IPv4", "ports": [{"port": 80}, {"name": "n"}], "endpoints": []},
            {"Ports": "80,n", "Endpoints": "<unset>"},
        ),
        (
            ("networking.k8s.io", "v1", "ingresses"),
            {"spec": {"tls": [{}], "rules": [{"host": f"h{index}"} for index in range(5)]}},
            {"Class": "<none>", "Hosts": "h0,h1,h2 + 2 more...", "Ports": "80, 443", "Address": ""},
        ),
        (("networking.k8s.io", "v1", "networkpolicies"), {"spec": {"podSelector": {}}}, {"Pod-Selector": "<none>"}),
        (
            ("", "v1", "nodes"),
            {"metadata": {"name": "x", "labels": {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}},
             "spec": {"unschedulable": True},
             "status": {"conditions": [{"type": "Ready", "status": "Unknown"}],
                        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                        "nodeInfo": {"kubeletVersion": "v1"}}},
            {"Status": "NotReady,SchedulingDisabled", "Roles": "a,b", "Version": "v1", "Internal-IP": "10.0.0.1",
             "External-IP": "<none>", "OS-Image": "<unknown>"},
        ),
        (("", "v1", "configmaps"), {"data": {"a": "b"}, "binaryData": {"c": ""}}, {"Data": 2}),
        (("", "v1", "secrets"), {"type": "Opaque", "data": {"a": ""}}, {"Type": "Opaque", "Data": 1}),
        (
            ("", "v1", "resourcequotas"),
            {"status": {"hard": {"pods": 10, "limits.cpu": "4000m", "x": "bad"}, "used": {"pods": "3"}}},
            {"Request": "pods: 3/10, x: 0/bad", "Limit": "limits.cpu: 0/4"},
        ),
        (
            ("", "v1", "persistentvolumeclaims"),
            {"spec": {"volumeName": "v", "storageClassName": "sc"},
             "status": {"phase": "Bound", "capacity": {"storage": "1Gi"},
                        "accessModes": ["ReadWriteMany", "ReadOnlyMany"]}},
            {"Status": "Bound", "Capacity": "1Gi", "Access Modes": "ROX,RWX", "StorageClass": "sc",
             "VolumeMode": "<unset>"},
        ),
        (
            ("", "v1", "persistentvolumes"),
            {"spec": {"capacity": {"storage": "1024Mi"}, "claimRef": {"namespace": "n", "name": "c"}},
             "metadata": {"name": "x", "deletionTimestamp": ago(1)}},
            {"Capacity": "1Gi", "Claim": "n/c", "Status": "Terminating", "VolumeAttributesClass": "<unset>"},
        ),
        (
            ("storage.k8s.io", "v1", "storageclasses"),
            {"metadata": {"name": "x", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}},
            {"Name": "x (default)", "ReclaimPolicy": "Delete", "AllowVolumeExpansion": False},
        ),
        (
            ("rbac.authorization.k8s.io", "v1", "rolebindings"),
            {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [
                {"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]},
            {"Role": "Role/r", "Users": "u", "Groups": "", "ServiceAccounts": "n/s"},
        ),
        (
            ("autoscaling", "v2", "horizontalpodautoscalers"),
            {"spec": {"scaleTargetRef": TARGET, "maxReplicas": 5, "metrics": [CPU, CPU, CPU]},
             "status": {"currentReplicas": 2, "currentMetrics": [CPU_NOW]}},
            {"Reference": "Deployment/d", "Targets": "cpu: 33%/80%, cpu: <unknown>/80% + 1 more...",
             "MinPods": "<unset>", "MaxPods": 5, "Replicas": 2},
        ),
        (
            ("policy", "v1", "poddisruptionbudgets"),
            {"spec": {"minAvailable": "50%"}},
            {"Min Available": "50%", "Max Unavailable": "N/A", "Allowed Disruptions": 0},
        ),
        (
            ("", "v1", "events"),
            {"involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "f"}, "message": " m \n", "count": 5,
             "firstTimestamp": ago(1000), "lastTimestamp": ago(100), "source": {"component": "kubelet", "host": "n"}},
            {"Last Seen": "100s", "Object": "pod/p", "Subobject": "f", "Source": "kubelet, n", "Message": "m",
             "First Seen": "16m", "Count": 5},
        ),
        (
            ("", "v1", "events"),
            {"involvedObject": {"kind": "Pod"}, "eventTime": ago(500), "reportingComponent": "c",
             "reportingInstance": "i", "series": {"count": 9, "lastObservedTime": ago(50)}},
            {"Last Seen": "50s", "First Seen": "8m20s", "Object": "pod", "Source": "c, i", "Count": 9},
        ),
        (("", "v1", "events"), {}, {"Last Seen": "<unknown>", "Count": 1, "Object": ""}),
        (("coordination.k8s.io", "v1", "leases"), {"spec": {"holderIdentity": "me"}}, {"Holder": "me"}),
        (
            ("scheduling.k8s.io", "v1", "priorityclasses"),
            {"value": 7, "preemptionPolicy": "Never"},
            {"Value": 7, "Global-Default": False, "PreemptionPolicy": "Never"},
        ),
        (("apiextensions.k8s.io", "v1", "customresourcedefinitions"), {}, {"Created At": ago(90)}),
        (
            ("certificates.k8s.io", "v1", "certificatesigningrequests"),
            {"spec": {"expirationSeconds": 600, "username": "u"}, "status": {
                "certificate": "x", "conditions": [{"type": "Approved"}, {"type": "Failed"}]}},
            {"Condition": "Approved,Failed,Issued", "RequestedDuration": "10m", "Requestor": "u"},
        ),
    ],
)  # fmt: skip
def test_what_stands_in_the_cells(place: tuple[str, str, str], tree: dict[str, Any], cells: dict[str, Any]) -> None:
    found = row(resource(*place), tree)
    assert {name: found[name] for name in cells} == cells


@pytest.mark.parametrize(
    ("plural", "shown", "wide"),
    [
        ("pods", "Name Ready Status Restarts Age", "IP Node Nominated+Node Readiness+Gates"),
        ("deployments.apps", "Name Ready Up-to-date Available Age", "Containers Images Selector"),
        ("services", "Name Type Cluster-IP External-IP Port(s) Age", "Selector"),
        ("nodes", "Name Status Roles Age Version", "Internal-IP External-IP OS-Image Kernel-Version Container-Runtime"),
        ("jobs.batch", "Name Status Completions Duration Age", "Containers Images Selector"),
        ("events", "Last+Seen Type Reason Object Message", "Subobject Source First+Seen Count Name"),
        ("persistentvolumeclaims",
         "Name Status Volume Capacity Access+Modes StorageClass VolumeAttributesClass Age", "VolumeMode"),
        ("clusterroles.rbac.authorization.k8s.io", "Name Created+At", ""),
        ("namespaces", "Name Status Age", ""),
    ],
)  # fmt: skip
def test_which_columns_are_shown_and_which_only_when_wide(plural: str, shown: str, wide: str) -> None:
    columns = BUILTIN[plural]
    assert [column.name.replace(" ", "+") for column in columns if not column.priority] == shown.split()
    assert [column.name.replace(" ", "+") for column in columns if column.priority] == wide.split()


def test_columns_are_written_for_resources_that_are_served() -> None:
    served = {each.storage_name for each in REGISTRY.all()} | {"componentstatuses"}
    assert BUILTIN.keys() <= served


ANY_PART: st.SearchStrategy[Any] = st.sampled_from([None, {}, []])


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from(["spec", "status", "data", "subjects", "subsets", "webhooks"]), ANY_PART))
def test_every_kind_can_be_shown_however_little_an_object_says(parts: dict[str, Any]) -> None:
    for each in REGISTRY.all():
        usable = {key: value for key, value in parts.items() if not isinstance(value, list) or key.startswith("sub")}
        tree = {"metadata": {}, **{key: value for key, value in usable.items() if key != "data" or value != []}}
        table = TablePrinter(each, each.kind).build_table_of_one(tree, NOW)
        assert len(table["rows"][0]["cells"]) == len(table["columnDefinitions"])
        msgspec.json.encode(table)


def test_a_kind_of_another_form_has_the_columns_of_that_form() -> None:
    deployments = resource("apps", "v1", "deployments")
    assert [column.name for column in columns_of(deployments, "Scale")] == ["Name", "Desired", "Available", "Age"]
    assert columns_of(deployments, "Eviction") == DEFAULT


# Custom resources.

THINGS = "/apis/demo.io/v1/namespaces/default/things"


@pytest.mark.parametrize(
    ("spec", "cells"),
    [
        (
            {"text": "t", "tree": {"b": 1, "a": "<"}, "size": 3, "share": 1.5, "flag": True, "since": ago(120)},
            ["t", '{"a":"\\u003c","b":1}', 3, 1.5, True, "2m", None],
        ),
        ({"text": 1.0, "tree": [1, "x"], "size": 2, "share": 4, "flag": "yes", "since": "soon"},
         ["1", '[1,"x"]', 2, 4, None, "<invalid>", None]),
        ({"text": True, "share": "x", "since": 5}, ["true", None, None, None, None, None, None]),
        ({}, [None] * 7),
    ],
)  # fmt: skip
def test_custom_columns_show_values_of_their_type(spec: dict[str, Any], cells: list[Any]) -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", DEFINITIONS, thing_definition())
        thing = {"apiVersion": "demo.io/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec}
        await client.ok("POST", THINGS, thing)
        table = await ask_tree(client, THINGS, TABLE)
        assert table["rows"][0]["cells"] == ["x", *cells]

    serve(test)


def test_custom_columns_carry_type_format_priority_and_description() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", DEFINITIONS, thing_definition())
        definitions = (await ask_tree(client, THINGS, TABLE))["columnDefinitions"]
        assert [each["name"] for each in definitions][:4] == ["Name", "Text", "Tree", "Whole"]
        assert definitions[3] == {
            "name": "Whole", "type": "integer", "format": "", "priority": 1,
            "description": "Custom resource definition column (in JSONPath format): .spec.size",
        }  # fmt: skip
        assert definitions[4]["format"] == "double"
        other = await ask_tree(client, THINGS.replace("v1", "v10"), TABLE)
        assert [(each["name"], each["type"]) for each in other["columnDefinitions"]] == [
            ("Name", "string"), ("Age", "date"),
        ]  # fmt: skip

    serve(test)


# Over the server.


def test_a_list_and_an_object_come_as_tables() -> None:
    async def test(client: Client) -> None:
        created = await client.ok("POST", MAPS, config_map("a"))
        client.now += 61
        table = await ask_tree(client, MAPS, TABLE)
        assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
        version = created["metadata"]["resourceVersion"]
        assert table["metadata"] == {"resourceVersion": version}
        [found] = table["rows"]
        assert found["cells"] == ["a", 1, "61s"]
        partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": created["metadata"]}
        assert found["object"] == partial
        one = await ask_tree(client, f"{MAPS}/a", TABLE)
        assert (one["rows"], one["metadata"]) == (table["rows"], {"resourceVersion": version})

    serve(test)


def test_a_page_of_a_table_can_be_continued() -> None:
    async def test(client: Client) -> None:
        for name in ("a", "b", "c"):
            await client.ok("POST", MAPS, config_map(name))
        first = await ask_tree(client, MAPS, TABLE, limit="2")
        assert first["metadata"]["remainingItemCount"] == 1
        rest = await ask_tree(client, MAPS, TABLE, **{"limit": "2", "continue": first["metadata"]["continue"]})
        assert [each["cells"][0] for each in first["rows"] + rest["rows"]] == ["a", "b", "c"]

    serve(test)


@pytest.mark.parametrize("include", ["None", "Metadata", "Object"])
def test_rows_carry_what_was_asked_for(include: str) -> None:
    async def test(client: Client) -> None:
        created = await client.ok("POST", MAPS, config_map("a"))
        [found] = (await ask_tree(client, MAPS, TABLE, includeObject=include))["rows"]
        if include == "None":
            assert found["object"] is None
        elif include == "Object":
            assert found["object"] == created
        else:
            assert found["object"].keys() == {"kind", "apiVersion", "metadata"}

    serve(test)


def test_a_watch_sends_headings_once_and_rows_after() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", MAPS, config_map("a"))
        query = {"watch": ["true"], "allowWatchBookmarks": ["true"], "sendInitialEvents": ["true"],
                 "resourceVersionMatch": ["NotOlderThan"]}  # fmt: skip
        request = Request(method="GET", path=MAPS, user=ADMIN, query=query, headers={"accept": TABLE})
        stream = await client.core.handle(request)
        assert isinstance(stream, Stream)
        first = [msgspec.json.decode(line) for line in (await anext(stream.chunks)).splitlines()]
        await client.ok("DELETE", f"{MAPS}/a")
        later = msgspec.json.decode(await anext(stream.chunks))
        await stream.chunks.aclose()
        events = [*first, later]
        assert [event["type"] for event in events] == ["ADDED", "BOOKMARK", "DELETED"]
        assert [event["object"]["kind"] for event in events] == ["Table"] * 3
        assert [bool(event["object"]["columnDefinitions"]) for event in events] == [True, False, False]
        assert [event["object"]["rows"][0]["cells"] for event in (first[0], later)] == [["a", 1, "0s"]] * 2

    serve(test)


def test_writes_answer_with_tables_too_and_a_status_stays_one() -> None:
    async def test(client: Client) -> None:
        headers = {"accept": TABLE, "content-type": "application/json"}
        body = msgspec.json.encode(config_map("a"))
        made = await client.core.handle(Request(method="POST", path=MAPS, user=ADMIN, headers=headers, body=body))
        assert getattr(made, "status", 0) == 201
        assert msgspec.json.decode(getattr(made, "body", b""))["kind"] == "Table"
        missing = await ask(client, f"{MAPS}/nope", TABLE)
        assert (missing.status, msgspec.json.decode(missing.body)["kind"]) == (404, "Status")
        gone = await client.core.handle(Request(method="DELETE", path=f"{MAPS}/a", user=ADMIN, headers=headers))
        assert msgspec.json.decode(getattr(gone, "body", b""))["status"] == "Success"

    serve(test)
