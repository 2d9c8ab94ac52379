"""Scale, binding, eviction, tokens, and requests that end on a node; refusals are among the recorded answers."""

import asyncio
import itertools
from typing import Any

import msgspec

from embedded.kinds.exchange import JSON, Call
from embedded.kinds.servers import NOW, caller, serve
from heliostat.embedded.access.token_requests import Issuer
from heliostat.embedded.server.admission.kind_admission import AdmissionOptions
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.messages import Answer, Request, Response
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.server.nodes.node_backend import (
    Duplex,
    Execution,
    Exited,
    Failed,
    LogOptions,
    Outcome,
    Proxied,
    Terminal,
)
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store
from heliostat.kube.hidden import Hidden

PLAIN = AdmissionOptions()
MERGE = "application/merge-patch+json"
NAMESPACE = "/api/v1/namespaces/default"
PODS = f"{NAMESPACE}/pods"
FOOS = "/apis/a.b/v1/namespaces/default/foos"


def tree(kind: str, name: str, api_version: str = "v1", **parts: Any) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": api_version, "metadata": {"name": name}, **parts}


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    return tree("Pod", name, spec={"containers": [{"name": "a", "image": "i"}], **spec})


async def ok(call: Call, method: str, path: str, body: Any = None, content_type: str = JSON) -> Any:
    status, answer = await call(method, path, body, content_type)
    assert status in (200, 201), answer
    return answer


async def define_foos(call: Call) -> None:
    fields = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scale = {
        "specReplicasPath": ".spec.size",
        "statusReplicasPath": ".status.size",
        "labelSelectorPath": ".status.selector",
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": fields, "status": fields}}},
        "subresources": {"status": {}, "scale": scale},
    }
    spec = {"group": "a.b", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"}, "versions": [version]}
    crd = tree("CustomResourceDefinition", "foos.a.b", "apiextensions.k8s.io/v1", spec=spec)
    await ok(call, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)


class TestScale:
    def test_a_custom_resource_is_scaled_where_its_definition_says(self) -> None:
        async def test(call: Call) -> None:
            await define_foos(call)
            await ok(call, "POST", FOOS, tree("Foo", "f", "a.b/v1", spec={"size": 2}))
            await ok(call, "PATCH", f"{FOOS}/f/status", {"status": {"size": 1, "selector": "a=b"}}, MERGE)
            scale = await ok(call, "GET", f"{FOOS}/f/scale")
            assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 1, "selector": "a=b"})
            scale["spec"]["replicas"] = 5
            assert (await ok(call, "PUT", f"{FOOS}/f/scale", scale))["spec"] == {"replicas": 5}
            foo = await ok(call, "GET", f"{FOOS}/f")
            assert foo["spec"] == {"size": 5}
            assert foo["metadata"]["generation"] == 2

        serve(test, PLAIN)

    def test_a_stale_scale_is_a_conflict(self) -> None:
        async def test(call: Call) -> None:
            await define_foos(call)
            await ok(call, "POST", FOOS, tree("Foo", "f", "a.b/v1", spec={"size": 2}))
            scale = await ok(call, "GET", f"{FOOS}/f/scale")
            await ok(call, "PATCH", f"{FOOS}/f/scale", {"spec": {"replicas": 3}}, MERGE)
            assert (await call("PUT", f"{FOOS}/f/scale", scale, JSON))[0] == 409

        serve(test, PLAIN)


class TestBinding:
    def test_a_bound_pod_has_a_node_and_is_told_to_be_scheduled(self) -> None:
        async def test(call: Call) -> None:
            await ok(call, "POST", PODS, pod())
            binding = tree("Binding", "p", target={"kind": "Node", "name": "n"})
            assert (await ok(call, "POST", f"{PODS}/p/binding", binding))["status"] == "Success"
            bound = await ok(call, "GET", f"{PODS}/p")
            assert bound["spec"]["nodeName"] == "n"
            assert [(each["type"], each["status"]) for each in bound["status"]["conditions"]] == [
                ("PodScheduled", "True")
            ]
            assert bound["metadata"]["generation"] == 1
            assert (await call("POST", f"{PODS}/p/binding", binding, JSON))[0] == 409

        serve(test, PLAIN)

    def test_of_two_schedulers_one_wins(self) -> None:
        async def test(call: Call) -> None:
            await ok(call, "POST", PODS, pod())
            bindings = [tree("Binding", "p", target={"name": f"n{i}"}) for i in range(5)]
            answers = await asyncio.gather(*(call("POST", f"{PODS}/p/binding", each, JSON) for each in bindings))
            assert sorted(status for status, _ in answers) == [201, 409, 409, 409, 409]

        serve(test, PLAIN)


class TestEviction:
    def test_a_budget_is_charged_and_then_refuses(self) -> None:
        async def test(call: Call) -> None:
            budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
            await ok(call, "POST", budgets, tree("PodDisruptionBudget", "b", "policy/v1", spec={"selector": {}}))
            allowed = {"observedGeneration": 1, "disruptionsAllowed": 1, "desiredHealthy": 2, "currentHealthy": 2}
            await ok(call, "PATCH", f"{budgets}/b/status", {"status": allowed}, MERGE)
            for name in ("p", "q"):
                await ok(call, "POST", PODS, pod(name, nodeName="n"))
                ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
                await ok(call, "PATCH", f"{PODS}/{name}/status", {"status": ready}, MERGE)
            await ok(call, "POST", f"{PODS}/p/eviction", tree("Eviction", "p", "policy/v1"))
            evicted = await ok(call, "GET", f"{PODS}/p")
            assert evicted["metadata"]["deletionGracePeriodSeconds"] == 30
            assert evicted["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"
            budget = await ok(call, "GET", f"{budgets}/b")
            assert budget["status"]["disruptionsAllowed"] == 0
            assert list(budget["status"]["disruptedPods"]) == ["p"]
            status, refused = await call("POST", f"{PODS}/q/eviction", tree("Eviction", "q", "policy/v1"), JSON)
            assert (status, refused["reason"]) == (429, "TooManyRequests")

        serve(test, PLAIN)

    def test_a_dry_run_charges_and_deletes_nothing(self) -> None:
        async def test(call: Call) -> None:
            await ok(call, "POST", PODS, pod())
            await ok(call, "POST", f"{PODS}/p/eviction?dryRun=All", tree("Eviction", "p", "policy/v1"))
            assert "deletionTimestamp" not in (await ok(call, "GET", f"{PODS}/p"))["metadata"]
            await ok(call, "POST", f"{PODS}/p/eviction", tree("Eviction", "p", "policy/v1"))
            assert (await call("GET", f"{PODS}/p", None, JSON))[0] == 404

        serve(test, PLAIN)


def test_a_namespace_is_finalized_through_its_own_door() -> None:
    async def test(call: Call) -> None:
        path = "/api/v1/namespaces/x"
        await ok(call, "POST", "/api/v1/namespaces", tree("Namespace", "x"))
        await ok(call, "PATCH", path, {"spec": {"finalizers": []}}, MERGE)
        assert (await ok(call, "GET", path))["spec"] == {"finalizers": ["kubernetes"]}
        await ok(call, "PUT", f"{path}/finalize", tree("Namespace", "x", spec={"finalizers": ["a.b/c"]}))
        assert (await ok(call, "GET", path))["spec"] == {"finalizers": ["a.b/c"]}

    serve(test, PLAIN)


class Kubelet:
    """A back end that tells what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def is_reachable(self) -> bool:
        return True

    async def read_log(self, pod: dict[str, Any], options: LogOptions) -> Answer:
        self.asked.append(options)
        return Response(200, f"log of {pod['metadata']['name']}".encode(), "text/plain")

    async def execute(self, _pod: dict[str, Any], execution: Execution, _terminal: Terminal) -> Outcome:
        self.asked.append(execution)
        return Exited()

    async def attach(self, _pod: dict[str, Any], execution: Execution, _terminal: Terminal) -> Outcome:
        self.asked.append(execution)
        return Exited()

    async def forward(self, _pod: dict[str, Any], port: int, _stream: Duplex) -> Failed | None:
        self.asked.append(port)
        return None

    async def proxy(self, proxied: Proxied, _request: Request) -> Answer:
        self.asked.append(proxied)
        return Response(200, b"proxied", "text/plain")

    async def proxy_node(self, node: dict[str, Any], path: str, _request: Request) -> Answer:
        self.asked.append((node["metadata"]["name"], path))
        return Response(200, b"node", "text/plain")


def serve_with_node(test: Any) -> list[Any]:
    kubelet = Kubelet()
    bugs: list[BaseException] = []

    async def run() -> None:
        async with Store(MemoryJournal()) as store:
            turns = itertools.count()
            authority = Authority(
                now=lambda: NOW,
                new_uid=lambda: str(store.revision),
                random_index=lambda size: next(turns) % size,
            )
            issuer = Issuer(sign=lambda claims: Hidden(f"token of {claims.sub}"), new_uid=lambda: "u")
            core = ApiCore(
                store,
                authority,
                lambda _user, _what: None,
                on_bug=bugs.append,
                node_backend=kubelet,
                token_issuer=issuer,
            )
            await core.bootstrap()
            await test(caller(core))

    asyncio.run(run())
    assert bugs == []
    return kubelet.asked


class TestNodes:
    def test_a_log_is_read_with_its_options(self) -> None:
        async def test(call: Call) -> None:
            await ok(call, "POST", PODS, pod(nodeName="n"))
            assert await ok(call, "GET", f"{PODS}/p/log?tailLines=5&follow=true&timestamps=true") == "log of p"

        asked = serve_with_node(test)
        assert asked == [LogOptions(container="a", follow=True, timestamps=True, tail_lines=5)]

    def test_a_command_needs_a_connection_that_changes_its_protocol(self) -> None:
        async def test(call: Call) -> None:
            await ok(call, "POST", PODS, pod(nodeName="n"))
            for path in ("exec?command=ls&stdout=true", "attach?stdout=true", "portforward?ports=80"):
                for method in ("GET", "POST"):
                    status, refused = await call(method, f"{PODS}/p/{path}", None, JSON)
                    assert (status, refused["message"]) == (400, "Upgrade request required")

        assert serve_with_node(test) == []

    def test_a_service_is_reached_through_its_endpoints(self) -> None:
        async def test(call: Call) -> None:
            spec = {"ports": [{"port": 80, "name": "web", "targetPort": 8080}]}
            await ok(call, "POST", f"{NAMESPACE}/services", tree("Service", "s", spec=spec))
            assert (await call("GET", f"{NAMESPACE}/services/s:80/proxy/x", None, JSON))[0] == 404
            piece = tree("EndpointSlice", "s-1", "discovery.k8s.io/v1", addressType="IPv4")
            piece["metadata"]["labels"] = {"kubernetes.io/service-name": "s"}
            piece["ports"] = [{"port": 8080, "name": "web"}]
            piece["endpoints"] = [
                {"addresses": ["10.0.0.1"], "conditions": {"ready": False}},
                {"addresses": ["10.0.0.2"]},
            ]
            await ok(call, "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", piece)
            for name in ("s:80", "s:web", "https:s:web"):
                await ok(call, "GET", f"{NAMESPACE}/services/{name}/proxy/x/y")

        plain = Proxied(scheme="http", address="10.0.0.2", port=8080, path="x/y")
        assert serve_with_node(test) == [plain, plain, msgspec.structs.replace(plain, scheme="https")]

    def test_every_ready_pod_of_a_service_is_reached_in_the_end(self) -> None:
        async def test(call: Call) -> None:
            spec = {"ports": [{"port": 80, "name": "web", "targetPort": 8080}]}
            await ok(call, "POST", f"{NAMESPACE}/services", tree("Service", "s", spec=spec))
            addresses = [{"ip": "10.0.0.2"}, {"ip": "10.0.0.3"}]
            subset = {
                "addresses": addresses,
                "notReadyAddresses": [{"ip": "10.0.0.4"}],
                "ports": [{"port": 8080, "name": "web"}],
            }
            await ok(call, "POST", f"{NAMESPACE}/endpoints", tree("Endpoints", "s", subsets=[subset]))
            for _ in range(40):
                await ok(call, "GET", f"{NAMESPACE}/services/s:80/proxy/x")

        assert {proxied.address for proxied in serve_with_node(test)} == {"10.0.0.2", "10.0.0.3"}

    def test_a_pod_and_a_node_can_be_asked_directly(self) -> None:
        async def test(call: Call) -> None:
            await ok(call, "POST", PODS, pod(nodeName="n"))
            await ok(call, "PATCH", f"{PODS}/p/status", {"status": {"podIP": "10.0.0.7"}}, MERGE)
            await ok(call, "GET", f"{PODS}/p:8265/proxy/api")
            await ok(call, "POST", "/api/v1/nodes", tree("Node", "n"))
            await ok(call, "GET", "/api/v1/nodes/n/proxy/healthz")

        assert serve_with_node(test) == [
            Proxied(scheme="http", address="10.0.0.7", port=8265, path="api"),
            ("n", "healthz"),
        ]

    def test_addresses_of_the_machine_itself_are_not_proxied_to(self) -> None:
        async def test(call: Call) -> None:
            await ok(call, "POST", PODS, pod(nodeName="n"))
            await ok(call, "PATCH", f"{PODS}/p/status", {"status": {"podIP": "127.0.0.1"}}, MERGE)
            status, refused = await call("GET", f"{PODS}/p/proxy/", None, JSON)
            assert (status, refused["message"]) == (400, "address not allowed")

        assert serve_with_node(test) == []


def test_a_token_is_made_for_an_account() -> None:
    async def test(call: Call) -> None:
        accounts = f"{NAMESPACE}/serviceaccounts"
        await ok(call, "POST", accounts, tree("ServiceAccount", "robot"))
        body = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {"audiences": ["x"]}}
        answer = await ok(call, "POST", f"{accounts}/robot/token", body)
        assert answer["status"]["token"] == "token of system:serviceaccount:default:robot"
        assert answer["spec"]["expirationSeconds"] == 3600
        assert (await call("GET", f"{accounts}/robot/token", None, JSON))[0] == 405

    serve_with_node(test)


def test_without_a_key_there_are_no_tokens() -> None:
    async def test(call: Call) -> None:
        accounts = f"{NAMESPACE}/serviceaccounts"
        await ok(call, "POST", accounts, tree("ServiceAccount", "robot"))
        assert (await call("POST", f"{accounts}/robot/token", {}, JSON))[0] == 404

    serve(test, PLAIN)


def test_an_event_is_one_object_under_two_apis() -> None:
    async def test(call: Call) -> None:
        new = "/apis/events.k8s.io/v1/namespaces/default/events"
        about = {"namespace": "default", "kind": "Pod", "name": "p"}
        old = tree("Event", "e", involvedObject=about, message="hello", reason="R", source={"component": "c"}, count=3)
        await ok(call, "POST", f"{NAMESPACE}/events", old)
        seen = await ok(call, "GET", f"{new}/e")
        assert (seen["kind"], seen["apiVersion"]) == ("Event", "events.k8s.io/v1")
        assert (seen["note"], seen["regarding"], seen["deprecatedCount"]) == ("hello", about, 3)
        assert "message" not in seen
        listed = await ok(call, "GET", f"{new}?fieldSelector=involvedObject.name%3Dp")
        assert [item["note"] for item in listed["items"]] == ["hello"]
        await ok(call, "PATCH", f"{NAMESPACE}/events/e", {"message": "again"}, MERGE)
        assert (await ok(call, "GET", f"{new}/e"))["note"] == "again"

    serve(test, PLAIN)
