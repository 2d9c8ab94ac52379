"""Waiting for what a file has made, against a real server whose operator and node are played: when it ends, and how."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cli.typed_commands import example
from heliostat.api.crds import all_crds
from heliostat.local.following import NotReadyError, RunError, follow_until_ready
from heliostat.local.running import apply_all
from heliostat.local.session import Session, open_session
from heliostat.local.taking_down import Made, take_down
from heliostat.testing import ApiServer

if TYPE_CHECKING:
    from heliostat.local.progress import ClusterView

Tree = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLUSTER = "/apis/ray.io/v1/namespaces/default/rayclusters/hello"
SECRET = "/api/v1/namespaces/default/secrets/redis"
PODS = "/api/v1/namespaces/default/pods"
SECONDS = 60.0  # far longer than anything here takes


class World:
    """A file that was applied: the RayCluster and what else there is in it."""

    def __init__(self, server: ApiServer, session: Session) -> None:
        self.server = server
        self.session = session
        self.made: list[Made] = []
        self.shown: list[ClusterView] = []
        self.is_done = False
        self.asked = 0

    async def apply(self, *documents: Tree) -> None:
        await apply_all(self.session, documents, "default", self.made, lambda _words: None)

    async def write_status(self, **status: Any) -> None:
        found = await self.server.request("GET", CLUSTER)
        await self.server.request("PUT", f"{CLUSTER}/status", {**found, "status": status})

    async def create_pod(self, name: str, owner: Tree, **status: Any) -> None:
        keys = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
        reference = {**keys, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        tree = {
            "metadata": {"name": name, "ownerReferences": [reference]},
            "spec": {"nodeName": "here", "containers": [_container()]},
        }
        made = await self.server.request("POST", PODS, tree)
        await self.server.request("PUT", f"{PODS}/{name}/status", {**made, "status": {"phase": "Pending", **status}})

    async def let_go(self, path: str) -> None:
        """As the garbage collector and an operator do: no finalizer holds it any more."""
        found = await self.server.request("GET", path)
        await self.server.request("PUT", path, {**found, "metadata": {**found["metadata"], "finalizers": []}})

    async def follow(self, seconds: float = SECONDS) -> Tree:
        trees = [each.tree for each in self.made]
        deadline = time.monotonic() + seconds
        return await follow_until_ready(
            self.session, trees, self.cluster, self.shown.append, deadline, self._ask_whether_done
        )

    async def _ask_whether_done(self, _cluster: Tree) -> bool:
        self.asked += 1
        return self.is_done

    @property
    def cluster(self) -> Tree:
        return next(each.tree for each in self.made if each.tree["kind"] == "RayCluster")


def _container() -> Tree:
    return {"name": "main", "image": "x"}


def waits(reason: str, message: str = "") -> Tree:
    state = {"waiting": {"reason": reason, "message": message}}
    return {
        "containerStatuses": [
            {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        ]
    }


def crashes(restarts: int) -> Tree:
    status = waits("CrashLoopBackOff", "back-off")["containerStatuses"][0]
    last = {"terminated": {"exitCode": 1, "reason": "Error"}}
    return {"containerStatuses": [{**status, "restartCount": restarts, "lastState": last}]}


def play(folder: Path, scene: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        async with ApiServer() as server:
            (folder / "kubeconfig").write_text(server.build_kubeconfig("tester", ("system:masters",)))
            await server.request(
                "POST", DEFINITIONS, next(t for t in all_crds(slim=True) if t["spec"]["names"]["kind"] == "RayCluster")
            )
            async with open_session(folder / "kubeconfig", patience=5.0) as session:
                await scene(World(server, session))

    asyncio.run(run())


def test_ready_is_waited_for_and_every_pod_of_the_file_is_shown(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        redis = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "redis"},
            "spec": {"containers": [_container()]},
        }
        await world.apply(redis, example("hello"))
        await world.create_pod("hello-head", world.cluster)
        following = asyncio.create_task(world.follow())
        while not world.shown:
            await asyncio.sleep(0.01)
        await world.write_status(state="ready", observedGeneration=1)
        assert (await following)["status"]["state"] == "ready"
        names = [line.split(":")[0].split()[-1] for line in world.shown[0].lines[1:]]
        assert names == ["hello-head", "redis"]

    play(tmp_path, scene)


def test_a_pod_whose_image_nobody_provides_ends_it_at_once(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await world.apply(example("hello"))
        await world.write_status(observedGeneration=1)
        await world.create_pod("hello-head", world.cluster, **waits("ErrImagePull", "no entry of images.toml for it"))
        begun = time.monotonic()
        with pytest.raises(NotReadyError, match=r"hello cannot become ready: Pod hello-head: .*images.toml") as ended:
            await world.follow()
        assert time.monotonic() - begun < SECONDS / 4
        assert [trouble.pod.name for trouble in ended.value.troubles] == ["hello-head"]

    play(tmp_path, scene)


def test_a_pod_that_the_api_server_calls_invalid_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that it refuses for now, as by a quota, does not."""
    monkeypatch.setattr("heliostat.local.following._MENDED_SECONDS", 0.5)

    async def scene(world: World) -> None:
        await world.apply(example("hello"))
        await world.write_status(conditions=[refused("pods is forbidden: exceeded quota")])
        with pytest.raises(NotReadyError, match="was not ready in time"):
            await world.follow(1.0)
        await world.write_status(conditions=[refused('Pod "hello-head" is invalid: requests: must be less')])
        with pytest.raises(NotReadyError, match=r"cannot become ready: FailedCreateHeadPod: Pod .* must be less"):
            await world.follow()

    play(tmp_path, scene)


def refused(words: str) -> Tree:
    return {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreateHeadPod",
        "message": f"FailedCreateHeadPod\n{words}",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def test_a_pod_beside_the_cluster_that_crashes_is_blamed_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The head ends again and again because its Redis does."""
    monkeypatch.setattr("heliostat.local.following._BESIDE_SECONDS", 0.5)

    async def scene(world: World) -> None:
        redis = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "redis"},
            "spec": {
                "selector": {"matchLabels": {"app": "redis"}},
                "template": {"metadata": {"labels": {"app": "redis"}}, "spec": {"containers": [_container()]}},
            },
        }
        await world.apply(redis, example("hello"))
        await world.write_status(observedGeneration=1)
        deployment = world.made[0].tree
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "redis", "uid": deployment["metadata"]["uid"]}
        replicas = {"metadata": {"name": "redis-1", "ownerReferences": [owner]}, "spec": deployment["spec"]}
        replica_set = await world.server.request("POST", "/apis/apps/v1/namespaces/default/replicasets", replicas)
        replica_set = {"apiVersion": "apps/v1", "kind": "ReplicaSet", **replica_set}
        await world.create_pod("redis-1-x", replica_set, **crashes(2))
        await world.create_pod("hello-head", world.cluster, **crashes(2))
        with pytest.raises(NotReadyError, match="hello cannot become ready: Pod redis-1-x: ") as ended:
            await world.follow()
        assert [trouble.pod.name for trouble in ended.value.troubles] == ["redis-1-x", "hello-head"]

    play(tmp_path, scene)


def test_the_time_is_bounded_and_the_pods_in_trouble_are_told(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await world.apply(example("hello"))
        await world.create_pod("hello-head", world.cluster, **waits("ContainerCreating"))
        with pytest.raises(NotReadyError, match="was not ready in time") as ended:
            await world.follow(0.5)
        assert [trouble.cause for trouble in ended.value.troubles] == ["ContainerCreating"]

    play(tmp_path, scene)


def test_a_status_that_stays_behind_the_spec_is_not_waited_for_when_nothing_is_left_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some edits change nothing that an operator would write into the status."""
    monkeypatch.setattr("heliostat.local.following._STALE_SECONDS", 0.1)

    async def scene(world: World) -> None:
        await world.apply(example("hello"))
        await world.write_status(state="ready", observedGeneration=0)
        following = asyncio.create_task(world.follow())
        while world.asked < 2:
            assert not following.done(), "the operator still has something to do"
            await asyncio.sleep(0.01)
        world.is_done = True
        assert (await following)["metadata"]["generation"] == 1

    play(tmp_path, scene)


def test_a_suspended_cluster_is_not_waited_for(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        document = example("hello")
        document["spec"]["suspend"] = True
        await world.apply(document)
        await world.write_status(state="suspended", observedGeneration=1)
        with pytest.raises(NotReadyError, match=r"set spec.suspend to false"):
            await world.follow()

    play(tmp_path, scene)


def test_a_cluster_that_somebody_deletes_is_not_waited_for(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await world.apply(example("hello"))
        await world.server.request("DELETE", CLUSTER)
        with pytest.raises(RunError, match="was deleted while it was waited for"):
            await world.follow()

    play(tmp_path, scene)


def test_what_a_cluster_depends_on_goes_when_the_cluster_is_gone(tmp_path: Path) -> None:
    """Its Redis, of the same file, is needed for as long as there is something to clean up in it."""

    async def scene(world: World) -> None:
        document = example("hello")
        document["metadata"]["finalizers"] = ["ray.io/gcs-ft-redis-cleanup-finalizer"]
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "redis"}}
        await world.apply(document, secret)
        shown: list[tuple[str, ...]] = []
        taking = asyncio.create_task(take_down(world.session, world.made, shown.append, SECONDS))
        while not shown:
            await asyncio.sleep(0.01)
        assert shown[0][0].startswith("… RayCluster hello: is being deleted; its state in Redis is cleaned up first")
        assert "deletionTimestamp" not in (await world.server.request("GET", SECRET))["metadata"]
        await world.let_go(CLUSTER)
        while "deletionTimestamp" not in (await world.server.request("GET", SECRET))["metadata"]:
            await asyncio.sleep(0.01)
        await world.let_go(SECRET)
        assert await taking == []

    play(tmp_path, scene)


def test_what_is_being_deleted_is_made_anew_when_it_is_gone(tmp_path: Path) -> None:
    """Somebody took it down and runs the file again at once: what is written to it now would go with it."""

    async def scene(world: World) -> None:
        document = example("hello")
        await world.apply({**document, "metadata": {**document["metadata"], "finalizers": ["example.com/stays"]}})
        before = world.cluster["metadata"]["uid"]
        await world.server.request("DELETE", CLUSTER)
        world.made.clear()
        waited: list[str] = []

        async def wait_gone(tree: Tree) -> None:
            waited.append(tree["metadata"]["uid"])
            await world.let_go(CLUSTER)

        await apply_all(world.session, [document], "default", world.made, lambda _words: None, wait_gone)
        assert waited == [before]
        assert world.made[0].is_new
        assert world.cluster["metadata"]["uid"] != before

    play(tmp_path, scene)


def test_what_does_not_go_is_told_after_a_while(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        document = example("hello")
        document["metadata"]["finalizers"] = ["example.com/stays"]
        await world.apply(document)
        left = await take_down(world.session, world.made, lambda _lines: None, 0.3)
        assert [tree["metadata"]["name"] for tree in left] == ["hello"]

    play(tmp_path, scene)


def test_what_was_there_before_stays(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await world.apply(example("hello"))
        world.made.clear()
        await world.apply(example("hello"))
        assert await take_down(world.session, world.made, lambda _lines: None, SECONDS) == []
        assert (await world.server.request("GET", CLUSTER))["metadata"]["name"] == "hello"

    play(tmp_path, scene)


def test_what_a_cluster_that_stays_may_need_by_now_stays_with_it(tmp_path: Path) -> None:
    """Its new spec names a Secret that came with the same file."""

    async def scene(world: World) -> None:
        await world.apply(example("hello"))
        world.made.clear()
        await world.apply(example("hello"), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "redis"}})
        assert await take_down(world.session, world.made, lambda _lines: None, SECONDS) == []
        assert "deletionTimestamp" not in (await world.server.request("GET", SECRET))["metadata"]
        await world.let_go(SECRET)

    play(tmp_path, scene)
