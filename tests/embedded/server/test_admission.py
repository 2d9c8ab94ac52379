"""What kinds get, and are refused, on their way into the store: addresses, accounts, priorities, limits, quotas."""

import asyncio
from typing import Any

import pytest

from embedded.kinds.exchange import JSON, Call
from embedded.kinds.servers import ADMIN, NOW, WHOLE, serve
from heliostat.embedded.server.admission import service_account_admission
from heliostat.embedded.server.admission.kind_admission import AdmissionOptions
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.messages import Request, Response
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.server.nodes.service_addresses import Pool
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import encode_json

NAMESPACE = "/api/v1/namespaces/default"
MERGE = "application/merge-patch+json"
PLAIN = AdmissionOptions()


def tree(kind: str, name: str, body: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    api_version = "scheduling.k8s.io/v1" if kind == "PriorityClass" else "v1"
    made: dict[str, Any] = {"kind": kind, "apiVersion": api_version, "metadata": {"name": name}, **(body or {})}
    return made | ({"spec": spec} if spec else {})


def service(name: str, **spec: Any) -> dict[str, Any]:
    return tree("Service", name, **{"ports": [{"port": 80}], **spec})


def pod(name: str = "p", resources: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "a", "image": "i", "resources": resources or {}}
    return tree("Pod", name, **{"containers": [container], **spec})


async def post(call: Call, plural: str, body: dict[str, Any], query: str = "") -> tuple[int, Any]:
    where = "/apis/scheduling.k8s.io/v1" if plural == "priorityclasses" else NAMESPACE
    return await call("POST", f"{where}/{plural}{query}", body, JSON)


async def made(call: Call, plural: str, body: dict[str, Any]) -> Any:
    status, answer = await post(call, plural, body)
    assert status == 201, answer
    return answer


class TestServiceAddresses:
    def test_the_server_itself_has_the_first_address(self) -> None:
        async def test(call: Call) -> None:
            _, kubernetes = await call("GET", f"{NAMESPACE}/services/kubernetes", None, JSON)
            assert kubernetes["spec"]["clusterIP"] == "10.96.0.1"
            status, refused = await post(call, "services", service("a", clusterIP="10.96.0.1"))
            assert status == 422
            assert "failed to allocate IP 10.96.0.1: provided IP is already allocated" in refused["message"]

        serve(test)

    def test_drawn_addresses_differ_and_leave_the_low_ones_to_those_who_ask(self) -> None:
        async def test(call: Call) -> None:
            drawn = [(await made(call, "services", service(f"s{i}")))["spec"]["clusterIP"] for i in range(50)]
            assert len(set(drawn)) == 50
            assert not [address for address in drawn if address.startswith("10.96.0.")]
            asked = await made(call, "services", service("dns", clusterIP="10.96.0.10"))
            assert asked["spec"]["clusterIPs"] == ["10.96.0.10"]

        serve(test)

    def test_a_deleted_service_gives_its_address_and_ports_back(self) -> None:
        async def test(call: Call) -> None:
            fixed = service("a", type="NodePort", clusterIP="10.96.0.50", ports=[{"port": 80, "nodePort": 30001}])
            await made(call, "services", fixed)
            assert (await post(call, "services", {**fixed, "metadata": {"name": "b"}}))[0] == 422
            await call("DELETE", f"{NAMESPACE}/services/a", None, JSON)
            await made(call, "services", {**fixed, "metadata": {"name": "b"}})

        serve(test)

    @pytest.mark.parametrize("query", ["?dryRun=All", ""])
    def test_what_is_refused_or_only_tried_out_keeps_nothing(self, query: str) -> None:
        async def test(call: Call) -> None:
            asked = service("a", clusterIP="10.96.0.50", type="NodePort", ports=[{"port": 80, "nodePort": 30001}])
            tried = asked if query else {**asked, "metadata": {"name": "a", "labels": {"a b": ""}}}
            assert (await post(call, "services", tried, query))[0] == (201 if query else 422)
            await made(call, "services", asked)

        serve(test)

    def test_a_change_of_type_draws_and_frees_ports(self) -> None:
        async def test(call: Call) -> None:
            await made(call, "services", service("a", ports=[{"port": 80, "name": "x"}, {"port": 81, "name": "y"}]))
            path = f"{NAMESPACE}/services/a"
            _, opened = await call("PATCH", path, {"spec": {"type": "NodePort"}}, MERGE)
            ports = [port["nodePort"] for port in opened["spec"]["ports"]]
            assert len(set(ports)) == 2
            await call("PATCH", path, {"spec": {"type": "ClusterIP"}}, MERGE)
            await made(call, "services", service("b", type="NodePort", ports=[{"port": 1, "nodePort": ports[0]}]))

        serve(test)

    def test_the_book_is_rebuilt_from_the_store(self) -> None:
        bugs: list[BaseException] = []

        async def run() -> None:
            async with Store(MemoryJournal()) as store:
                authority = Authority(now=lambda: NOW, new_uid=lambda: str(store.revision), random_index=lambda _: 0)

                async def create(core: ApiCore, body: dict[str, Any]) -> Response:
                    request = Request(
                        method="POST", path=f"{NAMESPACE}/services", user=ADMIN, body=encode_json(body),
                        headers={"content-type": JSON},
                    )  # fmt: skip
                    answer = await core.handle(request)
                    assert isinstance(answer, Response)
                    return answer

                first = ApiCore(store, authority, lambda _user, _what: None, on_bug=bugs.append)
                await first.bootstrap()
                body = service("a", clusterIP="10.96.0.99", type="NodePort", ports=[{"port": 1, "nodePort": 30009}])
                assert (await create(first, body)).status == 201
                second = ApiCore(store, authority, lambda _user, _what: None, on_bug=bugs.append)
                taken = service("b", type="NodePort", ports=[{"port": 1, "nodePort": 30009}])
                assert (await create(second, taken)).status == 422
                assert (await create(second, service("b", clusterIP="10.96.0.99"))).status == 422
                assert b'"clusterIP":"10.96.1.1"' in (await create(second, service("c"))).body

        asyncio.run(run())
        assert bugs == []

    def test_writes_under_way_never_get_the_same(self) -> None:
        async def test(call: Call) -> None:
            bodies = [service(f"s{i}", type="NodePort") for i in range(100)]
            answers = await asyncio.gather(*(made(call, "services", body) for body in bodies))
            assert len({answer["spec"]["clusterIP"] for answer in answers}) == 100
            assert len({answer["spec"]["ports"][0]["nodePort"] for answer in answers}) == 100

        serve(test)


class TestPool:
    def test_it_gives_out_everything_once_the_low_band_last(self) -> None:
        pool = Pool(10, 3, lambda index: index, lambda _length: 0)
        drawn = [pool.draw(str(n)) for n in range(11)]
        assert drawn == [3, 4, 5, 6, 7, 8, 9, 0, 1, 2, None]

    def test_a_holder_keeps_what_it_has_and_no_other_gets_it(self) -> None:
        pool = Pool(10, 3, lambda index: index, lambda _length: 0)
        assert pool.take(5, "a")
        assert pool.take(5, "a")
        assert not pool.take(5, "b")
        pool.keep_only(set(), "a")
        assert pool.take(5, "b")


class TestServiceAccounts:
    def test_without_the_switch_a_pod_needs_no_account(self) -> None:
        async def test(call: Call) -> None:
            spec = (await made(call, "pods", pod()))["spec"]
            assert "serviceAccountName" not in spec
            assert "volumes" not in spec

        serve(test, PLAIN)

    def test_a_missing_account_refuses_the_pod(self) -> None:
        async def test(call: Call) -> None:
            status, refused = await post(call, "pods", pod(serviceAccountName="nope"))
            assert status == 403
            why = 'error looking up service account default/nope: serviceaccount "nope" not found'
            assert refused["message"] == f'pods "p" is forbidden: {why}'

        serve(test)

    def test_a_pod_that_comes_with_its_namespace_waits_for_the_account(self) -> None:
        async def test(call: Call) -> None:
            namespace = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "new"}}
            assert (await call("POST", "/api/v1/namespaces", namespace, JSON))[0] == 201
            creating = asyncio.ensure_future(call("POST", "/api/v1/namespaces/new/pods", pod(), JSON))
            await asyncio.sleep(0.01)
            assert not creating.done()
            account = {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "default"}}
            await call("POST", "/api/v1/namespaces/new/serviceaccounts", account, JSON)
            status, created = await creating
            assert (status, created["spec"]["serviceAccountName"]) == (201, "default")

        serve(test)

    def test_an_account_that_does_not_come_is_not_waited_for_any_longer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_account_admission, "WAIT_SECONDS", 0.01)

        async def test(call: Call) -> None:
            namespace = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "new"}}
            assert (await call("POST", "/api/v1/namespaces", namespace, JSON))[0] == 201
            status, refused = await call("POST", "/api/v1/namespaces/new/pods", pod(), JSON)
            assert (status, refused["message"].endswith('serviceaccount "default" not found')) == (403, True)

        serve(test)

    def test_every_container_gets_the_token_unless_something_is_mounted_there(self) -> None:
        async def test(call: Call) -> None:
            await made(call, "serviceaccounts", tree("ServiceAccount", "default"))
            own = {"name": "v", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
            containers = [{"name": "a", "image": "i"}, {"name": "b", "image": "i", "volumeMounts": [own]}]
            volumes = [{"name": "v", "emptyDir": {}}]
            spec = (await made(call, "pods", tree("Pod", "p", containers=containers, volumes=volumes)))["spec"]
            name = spec["volumes"][1]["name"]
            assert name.startswith("kube-api-access-")
            assert [mount["name"] for mount in spec["containers"][0]["volumeMounts"]] == [name]
            assert [mount["name"] for mount in spec["containers"][1]["volumeMounts"]] == ["v"]

        serve(test)

    @pytest.mark.parametrize(
        ("account", "own", "mounted"), [(False, None, False), (False, True, True), (None, False, False)]
    )
    def test_the_pod_decides_about_its_token_and_else_the_account(
        self, account: bool | None, own: bool | None, mounted: bool
    ) -> None:
        async def test(call: Call) -> None:
            body = {} if account is None else {"automountServiceAccountToken": account}
            await made(call, "serviceaccounts", tree("ServiceAccount", "default", body))
            spec: dict[str, Any] = {} if own is None else {"automountServiceAccountToken": own}
            assert ("volumes" in (await made(call, "pods", pod(**spec)))["spec"]) is mounted

        serve(test)

    def test_pull_secrets_come_from_the_account(self) -> None:
        async def test(call: Call) -> None:
            await made(
                call, "serviceaccounts", tree("ServiceAccount", "default", {"imagePullSecrets": [{"name": "s"}]})
            )
            assert (await made(call, "pods", pod()))["spec"]["imagePullSecrets"] == [{"name": "s"}]

        serve(test)


class TestPriorities:
    def test_a_class_gives_its_number(self) -> None:
        async def test(call: Call) -> None:
            spec = (await made(call, "pods", pod(priorityClassName="system-node-critical")))["spec"]
            assert spec["priority"] == 2000001000
            status, refused = await post(call, "pods", pod("q", priorityClassName="nope"))
            assert (status, refused["message"]) == (
                403,
                'pods "q" is forbidden: no PriorityClass with name nope was found',
            )

        serve(test, PLAIN)

    def test_the_default_class_is_everybodys_and_there_is_only_one(self) -> None:
        async def test(call: Call) -> None:
            body = {"value": 7, "globalDefault": True, "preemptionPolicy": "Never"}
            await made(call, "priorityclasses", tree("PriorityClass", "seven", body))
            spec = (await made(call, "pods", pod()))["spec"]
            assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == ("seven", 7, "Never")
            status, refused = await post(call, "priorityclasses", tree("PriorityClass", "eight", body))
            assert status == 403
            assert "PriorityClass seven is already marked as default" in refused["message"]

        serve(test, PLAIN)


class TestStorage:
    def test_a_claim_gets_the_default_class_and_its_protection(self) -> None:
        async def test(call: Call) -> None:
            annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
            body = {"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "provisioner": "p"}
            body["metadata"] = {"name": "fast", "annotations": annotations}  # type: ignore[assignment]
            await call("POST", "/apis/storage.k8s.io/v1/storageclasses", body, JSON)
            wanted: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            claim = await made(call, "persistentvolumeclaims", tree("PersistentVolumeClaim", "c", **wanted))
            assert claim["spec"]["storageClassName"] == "fast"
            assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]

        serve(test)


class TestLimits:
    def test_defaults_are_filled_in_and_told(self) -> None:
        async def test(call: Call) -> None:
            limits = [{"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"}}]
            await made(call, "limitranges", tree("LimitRange", "l", limits=limits))
            answer = await made(call, "pods", pod())
            assert answer["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}}
            told = "LimitRanger plugin set: cpu request for container a; cpu limit for container a"
            assert answer["metadata"]["annotations"] == {"kubernetes.io/limit-ranger": told}

        serve(test, PLAIN)

    def test_what_is_out_of_bounds_is_refused(self) -> None:
        async def test(call: Call) -> None:
            await made(call, "limitranges", tree("LimitRange", "l", limits=[{"type": "Pod", "max": {"cpu": "1"}}]))
            status, refused = await post(call, "pods", pod(resources={"limits": {"cpu": "2"}}))
            assert status == 403
            assert refused["message"] == 'pods "p" is forbidden: maximum cpu usage per Pod is 1, but limit is 2'

        serve(test, PLAIN)


async def used(call: Call, name: str = "q") -> dict[str, str]:
    await asyncio.sleep(0)
    answer: dict[str, str] = (await call("GET", f"{NAMESPACE}/resourcequotas/{name}", None, JSON))[1]["status"]["used"]
    return answer


class TestQuotas:
    def test_a_new_quota_counts_what_is_there(self) -> None:
        async def test(call: Call) -> None:
            await made(call, "pods", pod(resources={"requests": {"cpu": "500m"}}))
            quota = await made(call, "resourcequotas", tree("ResourceQuota", "q", hard={"pods": "5", "cpu": "2"}))
            assert quota["status"] == {"hard": {"pods": "5", "cpu": "2"}, "used": {"cpu": "500m", "pods": "1"}}

        serve(test, PLAIN)

    def test_a_full_quota_refuses_and_says_by_how_much(self) -> None:
        async def test(call: Call) -> None:
            await made(call, "resourcequotas", tree("ResourceQuota", "q", hard={"configmaps": "1"}))
            await made(call, "configmaps", tree("ConfigMap", "a"))
            status, refused = await post(call, "configmaps", tree("ConfigMap", "b"))
            assert status == 403
            why = "exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1"
            assert refused["message"] == f'configmaps "b" is forbidden: {why}'

        serve(test, PLAIN)

    def test_what_goes_away_is_free_again(self) -> None:
        async def test(call: Call) -> None:
            await made(call, "resourcequotas", tree("ResourceQuota", "q", hard={"configmaps": "1"}))
            for name in "abc":
                await made(call, "configmaps", tree("ConfigMap", name))
                assert await used(call) == {"configmaps": "1"}
                await call("DELETE", f"{NAMESPACE}/configmaps/{name}", None, JSON)
                assert await used(call) == {"configmaps": "0"}

        serve(test, PLAIN)

    def test_a_pod_that_is_over_uses_nothing(self) -> None:
        async def test(call: Call) -> None:
            await made(call, "resourcequotas", tree("ResourceQuota", "q", hard={"pods": "1", "count/pods": "9"}))
            await made(call, "pods", pod())
            await call("PATCH", f"{NAMESPACE}/pods/p/status", {"status": {"phase": "Succeeded"}}, MERGE)
            assert await used(call) == {"pods": "0", "count/pods": "1"}
            await made(call, "pods", pod("q"))

        serve(test, PLAIN)

    @pytest.mark.parametrize("query", ["?dryRun=All", ""])
    def test_what_is_not_written_is_not_charged(self, query: str) -> None:
        async def test(call: Call) -> None:
            await made(call, "resourcequotas", tree("ResourceQuota", "q", hard={"configmaps": "2"}))
            await made(call, "configmaps", tree("ConfigMap", "a"))
            name = "b" if query else "a"  # which is there already
            assert (await post(call, "configmaps", tree("ConfigMap", name), query))[0] == (201 if query else 409)
            assert await used(call) == {"configmaps": "1"}

        serve(test, PLAIN)

    def test_writes_under_way_share_no_room(self) -> None:
        async def test(call: Call) -> None:
            await made(call, "resourcequotas", tree("ResourceQuota", "q", hard={"configmaps": "7"}))
            posts = (post(call, "configmaps", tree("ConfigMap", f"c{i}")) for i in range(20))
            statuses = [status for status, _ in await asyncio.gather(*posts)]
            assert sorted(statuses) == [201] * 7 + [403] * 13
            assert await used(call) == {"configmaps": "7"}

        serve(test, PLAIN)

    def test_custom_objects_can_be_counted(self) -> None:
        async def test(call: Call) -> None:
            version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            crd = tree("CustomResourceDefinition", "foos.a.b") | {"apiVersion": "apiextensions.k8s.io/v1"}
            names = {"plural": "foos", "kind": "Foo"}
            crd["spec"] = {"group": "a.b", "scope": "Namespaced", "names": names, "versions": [version]}
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            assert (await call("POST", path, crd, JSON))[0] == 201
            await made(call, "resourcequotas", tree("ResourceQuota", "q", hard={"count/foos.a.b": "1"}))
            foos = "/apis/a.b/v1/namespaces/default/foos"
            one, two = (tree("Foo", name) | {"apiVersion": "a.b/v1"} for name in "ab")
            assert (await call("POST", foos, one, JSON))[0] == 201
            assert (await call("POST", foos, two, JSON))[0] == 403

        serve(test, PLAIN)


def test_nodes_bring_their_status_and_get_a_taint() -> None:
    async def test(call: Call) -> None:
        body = tree("Node", "n", {"status": {"capacity": {"cpu": "2"}}})
        _, node = await call("POST", "/api/v1/nodes", body, JSON)
        assert node["status"]["allocatable"] == {"cpu": "2"}
        assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]

    serve(test, WHOLE)
