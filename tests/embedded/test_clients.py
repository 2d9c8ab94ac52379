"""Clients that people use, unmodified, against the embedded server: each creates, reads, watches, patches, deletes."""

import asyncio
import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from heliostat.testing import ApiServer, api_server_in_thread

CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}
THING: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Thing",
    "metadata": {"name": "t", "namespace": "default"},
    "spec": {"size": 1},
}
THINGS = ("example.com", "v1", "default", "things")

# The clients leave connections to the garbage collector, which is theirs to decide.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with api_server_in_thread() as running:
        yield running
    gc.collect()  # what a client left open is complained about here, where it is ignored, and not in a later test


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}}


def test_kubernetes(server: ApiServer) -> None:
    kubernetes = pytest.importorskip("kubernetes")
    api_client = kubernetes.config.new_client_from_config(str(server.kubeconfig))
    with api_client:
        core = kubernetes.client.CoreV1Api(api_client)
        made = core.create_namespaced_config_map("default", config_map("a"))
        seen = []
        watch = kubernetes.watch.Watch()
        options = {"resource_version": made.metadata.resource_version, "timeout_seconds": 30}
        core.patch_namespaced_config_map("a", "default", {"data": {"z": "1"}})
        core.delete_namespaced_config_map("a", "default")
        for event in watch.stream(core.list_namespaced_config_map, "default", **options):
            seen.append((event["type"], event["object"].data))
            if event["type"] == "DELETED":
                watch.stop()
        assert seen == [("MODIFIED", {"k": "v", "z": "1"}), ("DELETED", {"k": "v", "z": "1"})]
        with pytest.raises(kubernetes.client.ApiException) as refused:
            core.read_namespaced_config_map("a", "default")
        assert refused.value.status == 404
        kubernetes.client.ApiextensionsV1Api(api_client).create_custom_resource_definition(CRD)
        custom = kubernetes.client.CustomObjectsApi(api_client)
        custom.create_namespaced_custom_object(*THINGS, THING)
        custom.patch_namespaced_custom_object_status(*THINGS, "t", {"status": {"ready": True}})
        assert custom.get_namespaced_custom_object(*THINGS, "t")["status"] == {"ready": True}
        assert len(core.list_namespace().items) == 4


def test_kubernetes_asyncio(server: ApiServer) -> None:
    kubernetes_asyncio = pytest.importorskip("kubernetes_asyncio")

    async def use() -> None:
        api_client = await kubernetes_asyncio.config.new_client_from_config(str(server.kubeconfig))
        async with api_client:
            core = kubernetes_asyncio.client.CoreV1Api(api_client)
            for name in ("a", "b", "c"):
                await core.create_namespaced_config_map("default", config_map(name))
            page = await core.list_namespaced_config_map("default", limit=2)
            rest = await core.list_namespaced_config_map("default", limit=2, _continue=page.metadata._continue)
            assert [item.metadata.name for item in [*page.items, *rest.items]] == ["a", "b", "c"]
            names = []
            async with kubernetes_asyncio.watch.Watch() as watch:
                async for event in watch.stream(core.list_namespaced_config_map, "default", timeout_seconds=30):
                    names.append(event["object"].metadata.name)
                    if len(names) == 3:
                        break
            assert names == ["a", "b", "c"]
            await core.delete_collection_namespaced_config_map("default")
            assert (await core.list_namespaced_config_map("default")).items == []

    asyncio.run(asyncio.wait_for(use(), 60))


def test_lightkube(server: ApiServer) -> None:
    lightkube = pytest.importorskip("lightkube")
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.core_v1 import ConfigMap
    from lightkube.types import PatchType

    client = lightkube.Client(config=lightkube.KubeConfig.from_file(str(server.kubeconfig)))
    client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"k": "v"}))
    client.patch(ConfigMap, "a", {"data": {"m": "1"}}, patch_type=PatchType.MERGE)
    client.patch(ConfigMap, "a", {"data": {"s": "1"}}, patch_type=PatchType.STRATEGIC)
    client.patch(ConfigMap, "a", [{"op": "add", "path": "/data/j", "value": "1"}], patch_type=PatchType.JSON)
    assert client.get(ConfigMap, "a").data == {"k": "v", "m": "1", "s": "1", "j": "1"}
    kind, first = next(iter(client.watch(ConfigMap)))
    assert (kind, first.metadata.name) == ("ADDED", "a")
    client.delete(ConfigMap, "a")
    assert list(client.list(ConfigMap)) == []


def test_kr8s(server: ApiServer) -> None:
    kr8s_asyncio = pytest.importorskip("kr8s.asyncio")
    from kr8s.asyncio.objects import ConfigMap

    async def use() -> None:
        api = await kr8s_asyncio.api(kubeconfig=str(server.kubeconfig))
        one = await ConfigMap({**config_map("a"), "metadata": {"name": "a", "namespace": "default"}}, api=api)
        await one.create()
        await one.patch({"data": {"z": "1"}})
        await one.label({"team": "x"})
        found = [item async for item in api.get("configmaps", namespace="default", label_selector="team=x")]
        assert [item.raw["data"] for item in found] == [{"k": "v", "z": "1"}]
        await one.delete()
        assert not await one.exists()

    asyncio.run(asyncio.wait_for(use(), 60))


def test_a_kopf_operator(server: ApiServer) -> None:
    kopf = pytest.importorskip("kopf")
    registry = kopf.OperatorRegistry()
    ready, stop = threading.Event(), threading.Event()

    @kopf.on.startup(registry=registry)  # type: ignore[untyped-decorator]
    def configure(settings: Any, **_: Any) -> None:
        settings.posting.enabled = False
        settings.scanning.disabled = True

    @kopf.on.create("example.com", "v1", "things", registry=registry)  # type: ignore[untyped-decorator]
    def created(spec: Any, patch: Any, **_: Any) -> None:
        patch.status["seen"] = spec["size"]

    @kopf.on.update("example.com", "v1", "things", registry=registry)  # type: ignore[untyped-decorator]
    def updated(spec: Any, patch: Any, **_: Any) -> None:
        patch.status["seen"] = spec["size"]

    def operate() -> None:
        from kopf._core.intents.piggybacking import login_with_kubeconfig

        @kopf.on.login(registry=registry)  # type: ignore[untyped-decorator]
        def login(**kwargs: Any) -> Any:
            return login_with_kubeconfig(**kwargs)

        kopf.run(registry=registry, namespaces=["default"], ready_flag=ready, stop_flag=stop, standalone=True)

    kubernetes = pytest.importorskip("kubernetes")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KUBECONFIG", str(server.kubeconfig))
        api_client = kubernetes.config.new_client_from_config(str(server.kubeconfig))
        kubernetes.client.ApiextensionsV1Api(api_client).create_custom_resource_definition(CRD)
        thread = threading.Thread(target=operate, daemon=True)
        thread.start()
        try:
            assert ready.wait(60)
            custom = kubernetes.client.CustomObjectsApi(api_client)
            custom.create_namespaced_custom_object(*THINGS, THING)
            wait_for_status(custom, {"seen": 1})
            custom.patch_namespaced_custom_object(*THINGS, "t", {"spec": {"size": 7}})
            wait_for_status(custom, {"seen": 7})
        finally:
            stop.set()
            thread.join(30)
            api_client.close()


def wait_for_status(custom: Any, expected: dict[str, Any]) -> None:
    """By watching, as a client would."""
    kubernetes = pytest.importorskip("kubernetes")
    watch = kubernetes.watch.Watch()
    for event in watch.stream(custom.list_namespaced_custom_object, *THINGS, timeout_seconds=30):
        status = event["object"].get("status") or {}
        if expected.items() <= status.items():
            watch.stop()
            return
    raise AssertionError(f"the status never became {expected}")
