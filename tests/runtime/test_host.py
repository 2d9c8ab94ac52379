"""The whole loop against the real server in memory: a controller that keeps children of a ConfigMap."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest

from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Create, Delete, Event, Plan, Ref, Regarded, Report, Stage
from heliostat.runtime.cache import CachedKind
from heliostat.runtime.caches import Caches
from heliostat.runtime.errors import AmbiguousError, InvalidError
from heliostat.runtime.host import Host, HostSettings
from heliostat.runtime.long_plans import TURNS
from heliostat.runtime.pace import LONGEST_SECONDS
from heliostat.runtime.reconciler import Signal, Source, Subject, its_controller, itself, signalled, subject_of
from heliostat.runtime.watch import WatchSettings
from heliostat.testing.faults import Cut, Delay, Drop, Fault, Refuse
from heliostat.testing.virtual_time import run_virtual
from runtime.small_server import CONFIG_MAP, Notebook, SmallServer, build_host, eventually, running, small_server

MAPS: CachedKind[Object] = CachedKind(CONFIG_MAP, Object)
WANTED = "wanted"


def parent(wanted: int, name: str = "parent") -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "annotations": {WANTED: str(wanted)}},
    }


class Children:
    """As many children as the parent's annotation says."""

    name = "children"

    def __init__(self, caches: Caches, *, breaks_on: str = "") -> None:
        self.maps = caches.of(MAPS)
        self.signal = Signal()
        self._breaks_on = breaks_on

    def sources(self) -> Sequence[Source]:
        return (
            Source(self.maps, itself),
            Source(self.maps, its_controller("v1", "ConfigMap")),
            Source(self.signal, signalled),
        )

    def subject(self, key: Key) -> Subject | None:
        found = self.maps.get(key)
        return subject_of(found, "v1", "ConfigMap") if found is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        owner = self.maps.get(key)
        assert owner is not None
        if key.name == self._breaks_on:
            raise LookupError("a bug in this plan")
        if WANTED not in owner.metadata.annotations:
            return Plan()
        wanted = int(owner.metadata.annotations[WANTED])
        children = sorted(self.maps.owned_by(owner.metadata.uid), key=lambda item: item.metadata.name)
        names = {child.metadata.name for child in children}
        missing = [name for i in range(wanted) if (name := f"{key.name}-{i}") not in names]
        creates = tuple(self._create(owner, name) for name in missing)
        deletes = tuple(self._delete(child) for child in children[wanted:])
        return Plan(stages=(Stage("children", (*creates, *deletes)),), wake_after=30.0)

    def _create(self, owner: Object, name: str) -> Create:
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner.metadata.name,
            "uid": owner.metadata.uid,
            "controller": True,
        }
        metadata = {"name": name, "namespace": "default", "ownerReferences": [reference]}
        report = Report(Event("Normal", "Made", "Create", name), Event("Warning", "NotMade", "Create", name))
        return Create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, "missing", report)

    def _delete(self, child: Object) -> Delete:
        ref = Ref("v1", "ConfigMap", "default", child.metadata.name)
        told = Event("Normal", "Gone", "Delete", "too many", about=Regarded(ref, child.metadata.uid))
        return Delete(ref, child.metadata.uid, "too many", report=Report(success=told))


@asynccontextmanager
async def prepared(
    settings: HostSettings | None = None, breaks_on: str = ""
) -> AsyncIterator[tuple[SmallServer, Notebook, Host, Children]]:
    async with small_server() as server:
        notebook = Notebook()
        host = build_host(server, notebook, settings)
        controller = Children(host.caches, breaks_on=breaks_on)
        host.add(controller)
        yield server, notebook, host, controller


async def annotate(server: SmallServer, wanted: int, name: str = "parent") -> None:
    await server.client.patch(CONFIG_MAP, "default", name, {"metadata": {"annotations": {WANTED: str(wanted)}}})


def children(server: SmallServer, name: str = "parent") -> int:
    return sum(found.startswith(f"{name}-") for found in server.names())


def test_an_event_may_be_about_another_object() -> None:
    async def scenario() -> None:
        async with prepared() as (server, notebook, host, _controller), running(host):
            await server.client.create(CONFIG_MAP, parent(2))
            await eventually(lambda: children(server) == 2)
            await annotate(server, 1)
            await eventually(lambda: children(server) == 1)
            await eventually(lambda: "parent-1 Gone too many" in notebook.events)

    run_virtual(scenario())


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "pages"])
def test_a_change_becomes_a_plan_and_a_plan_becomes_writes(streaming: bool) -> None:
    async def scenario() -> None:
        async with prepared(HostSettings(watch=WatchSettings(streaming=streaming, page_size=2))) as (
            server,
            notebook,
            host,
            _controller,
        ):
            for number in range(5):  # more than a page
                await server.client.create(CONFIG_MAP, parent(0, f"other{number}"))
            async with running(host):
                await server.client.create(CONFIG_MAP, parent(3))
                await eventually(lambda: children(server) == 3)
                await annotate(server, 1)
                await eventually(lambda: children(server) == 1)
            assert notebook.failures == []
            assert [event.split()[1] for event in notebook.events] == ["Made"] * 3 + ["Gone"] * 2

    run_virtual(scenario())


def test_a_world_at_rest_is_looked_at_and_not_written_to() -> None:
    async def scenario() -> None:
        async with prepared() as (server, notebook, host, _controller), running(host):
            await server.client.create(CONFIG_MAP, parent(2))
            await eventually(lambda: children(server) == 2)
            await asyncio.sleep(1)
            before, looks = len(server.writes()), len(notebook.results)
            await asyncio.sleep(600)  # wake_after comes twenty times
            assert len(server.writes()) == before
            assert len(notebook.results) >= looks + 19

    run_virtual(scenario())


def test_a_look_makes_what_was_appointed_before_it_needless() -> None:
    async def scenario() -> None:
        async with prepared() as (server, notebook, host, _controller), running(host):
            await server.client.create(CONFIG_MAP, parent(2))
            await eventually(lambda: children(server) == 2)
            await asyncio.sleep(20)  # the next look is due in ten seconds
            patch = {"metadata": {"annotations": {"other": "text"}}}
            await server.client.patch(CONFIG_MAP, "default", "parent", patch)
            await asyncio.sleep(1)
            looks = len(notebook.results)
            await asyncio.sleep(25)
            assert len(notebook.results) == looks
            await asyncio.sleep(10)
            assert len(notebook.results) == looks + 1

    run_virtual(scenario())


def test_one_object_that_trips_its_plan_does_not_disturb_the_others() -> None:
    async def scenario() -> None:
        async with prepared(breaks_on="bad") as (server, notebook, host, _controller):
            await server.client.create(CONFIG_MAP, parent(2, "bad"))
            async with running(host):
                await server.client.create(CONFIG_MAP, parent(2, "good"))
                await eventually(lambda: children(server, "good") == 2)
                await asyncio.sleep(3600)
            bugs = [error for error in notebook.failures if isinstance(error, LookupError)]
            assert 20 < len(bugs) < 100  # with back-off, not in circles
            assert children(server, "bad") == 0

    run_virtual(scenario())


def test_creates_that_are_refused_are_not_tried_by_the_hundred() -> None:
    async def scenario() -> None:
        async with prepared() as (server, notebook, host, _controller):
            await server.client.create(CONFIG_MAP, parent(200))
            server.faults.add(Fault(Refuse(403), method="POST", path="configmaps$", times=1000))
            async with running(host):
                await eventually(lambda: len(notebook.failures) == 5)
            assert len(server.writes()) == 1 + 5  # one try for each plan

    run_virtual(scenario())


@pytest.mark.parametrize(
    ("short_plan", "seconds"),
    [
        pytest.param(None, 10 * 1 + 5 * 2, id="never"),
        pytest.param(15, 10 * 1 + 5 * 2, id="the plan is short"),
        pytest.param(8, 10 * 1 + 5 * 2 + 4 * LONGEST_SECONDS, id="the plan is long"),
    ],
)
def test_a_long_plan_rests_when_the_server_slows_down(short_plan: int | None, seconds: float) -> None:
    async def scenario() -> None:
        async with prepared(HostSettings(parallel_writes=1, short_plan=short_plan)) as (server, _notebook, host, _):
            await server.client.create(CONFIG_MAP, parent(15))
            server.faults.add(Fault(Delay(1.0), method="POST", path="configmaps$", times=10))
            server.faults.add(Fault(Delay(2.0), method="POST", path="configmaps$", times=5))
            begun = asyncio.get_running_loop().time()
            async with running(host):
                await eventually(lambda: children(server) == 15)
                assert asyncio.get_running_loop().time() - begun == pytest.approx(seconds, abs=0.5)

    run_virtual(scenario())


def test_a_long_plan_for_an_object_that_is_gone_is_given_up() -> None:
    async def scenario() -> None:
        settings = HostSettings(parallel_writes=1, short_plan=4)
        async with prepared(settings) as (server, notebook, host, _):
            made = await server.client.create(CONFIG_MAP, parent(100))
            uid = msgspec.json.decode(made)["metadata"]["uid"]
            server.faults.add(Fault(Delay(1.0), method="POST", path="configmaps$", times=100))
            async with running(host):
                await eventually(lambda: children(server) == 10)
                await server.client.delete(CONFIG_MAP, "default", "parent", uid=uid)
                await eventually(lambda: notebook.results[-2:] == ["outdated", "gone"])
            assert children(server) <= 11  # the one that was on its way

    run_virtual(scenario())


@pytest.mark.parametrize("large", [1, 2, 3, 5])
def test_a_small_plan_does_not_wait_for_large_ones_however_many_there_are(large: int) -> None:
    """One worker: one large plan has a seat beside it, the others end after their first writes and wait outside."""

    async def scenario() -> None:
        settings = HostSettings(workers=1, parallel_writes=1, short_plan=4)
        async with prepared(settings) as (server, notebook, host, _):
            server.faults.add(Fault(Delay(1.0), method="POST", path="configmaps$", times=10_000))
            for number in range(large):
                await server.client.create(CONFIG_MAP, parent(100, f"large{number}"))
            async with running(host):
                await eventually(lambda: children(server, "large0") >= 4)
                await server.client.create(CONFIG_MAP, parent(1, "small"))
                begun = asyncio.get_running_loop().time()
                await eventually(lambda: "small-0" in server.names(), 60)
                assert asyncio.get_running_loop().time() - begun <= 6 * (large + 1)
                await eventually(lambda: len(server.names()) == (100 + 1) * large + 2, 10_000)
            assert ("continued" in notebook.results) is (large > 1)

    run_virtual(scenario())


def test_many_long_plans_keep_the_server_no_busier_than_a_few() -> None:
    async def scenario() -> None:
        workers, large = 2 * TURNS, 3 * TURNS
        settings = HostSettings(workers=workers, parallel_writes=2, short_plan=4)
        async with prepared(settings) as (server, _notebook, host, _):
            server.faults.add(Fault(Delay(1.0), method="POST", path="configmaps$", times=10_000))
            for number in range(large):
                await server.client.create(CONFIG_MAP, parent(50, f"large{number}"))
            async with running(host):
                await eventually(lambda: all(children(server, f"large{each}") >= 4 for each in range(large)), 60)
                await asyncio.sleep(3)
                seen = set[int]()
                for _ in range(40):
                    await asyncio.sleep(0.5)
                    seen.add(server.client.limiter.in_flight)
                assert max(seen) == 2 * TURNS
                await eventually(lambda: len(server.names()) == 51 * large, 10_000)

    run_virtual(scenario())


def test_a_write_in_doubt_keeps_nobody_else_waiting() -> None:
    async def scenario() -> None:
        async with prepared(HostSettings(workers=1)) as (server, notebook, host, _):
            await server.client.create(CONFIG_MAP, parent(1, "doubtful"))
            server.faults.add(Fault(Drop(after=True), method="POST", path="configmaps$"))
            async with running(host):
                await eventually(lambda: "unsettled" in notebook.results)
                await server.client.create(CONFIG_MAP, parent(1, "other"))
                await eventually(lambda: "other-0" in server.names(), 0.5)

    run_virtual(scenario())


def test_a_lost_reply_is_settled_by_a_read_before_the_next_decision() -> None:
    async def scenario() -> None:
        async with prepared() as (server, notebook, host, _controller):
            await server.client.create(CONFIG_MAP, parent(1))
            server.faults.add(Fault(Drop(after=True), method="POST", path="configmaps$"))
            async with running(host):
                await eventually(lambda: children(server) == 1)
                await asyncio.sleep(60)
            assert [type(error) for error in notebook.failures] == [AmbiguousError]
            posts = [write for write in server.writes() if write.startswith("POST")]
            assert len(posts) == 2  # the parent, and the child once
            reads = [r.path for r in server.requests if r.method == "GET" and r.path.endswith("/parent-0")]
            assert len(reads) == 1

    run_virtual(scenario())


def test_a_watch_that_is_cut_inside_a_line_goes_on_without_a_gap() -> None:
    async def scenario() -> None:
        async with prepared() as (server, _notebook, host, controller):
            await server.client.create(CONFIG_MAP, parent(0))
            server.faults.add(*(Fault(Cut(lines=lines, mid_line=True), watch=True) for lines in (0, 1, 2, 3)))
            async with running(host):
                for wanted in range(1, 6):
                    await annotate(server, wanted)
                    await asyncio.sleep(0.01)
                await eventually(lambda: children(server) == 5)
                await eventually(lambda: {key.name for key in controller.maps.known_keys()} == set(server.names()))

    run_virtual(scenario())


def test_history_that_was_forgotten_is_listed_anew() -> None:
    async def scenario() -> None:
        async with prepared() as (server, _notebook, host, _controller):
            await server.client.create(CONFIG_MAP, parent(1))
            async with running(host):
                await eventually(lambda: children(server) == 1)
                server.faults.add(Fault(Cut(lines=0), watch=True, times=1))
                await asyncio.sleep(46)  # the watch ends; the next one is cut at once
                await annotate(server, 4)
                server.store.compact(server.store.revision)
                await eventually(lambda: children(server) == 4)

    run_virtual(scenario())


def test_a_name_that_somebody_else_took_is_a_failure_that_is_told() -> None:
    async def scenario() -> None:
        async with prepared() as (server, notebook, host, _controller):
            await server.client.create(CONFIG_MAP, parent(0, "parent-0"))
            await server.client.create(CONFIG_MAP, parent(1))
            async with running(host):
                await eventually(lambda: len(notebook.failures) >= 2)
            assert str(notebook.failures[0]) == "ConfigMap default/parent-0 exists and is not ours"
            assert notebook.events[0] == ("parent NotMade parent-0, ConfigMap default/parent-0 exists and is not ours")

    run_virtual(scenario())


def test_a_signal_is_kept_until_somebody_listens() -> None:
    signal = Signal()
    signal.send(Key("a", "b"))
    heard: list[Key] = []
    signal.subscribe(lambda _before, key: heard.append(key))
    signal.send(Key("c", "d"))
    assert heard == [Key("a", "b"), Key("c", "d")]


def test_a_host_that_stops_finishes_what_it_has_in_hand() -> None:
    async def scenario() -> None:
        async with prepared() as (server, _notebook, host, _controller):
            await server.client.create(CONFIG_MAP, parent(40))
            stop = asyncio.Event()
            task = asyncio.create_task(host.run(stop))
            await eventually(lambda: children(server) > 0)
            stop.set()
            await task
            assert children(server) == 40

    run_virtual(scenario())


def test_errors_of_the_server_keep_their_words() -> None:
    async def scenario() -> None:
        async with small_server() as server:
            with pytest.raises(InvalidError, match=r"metadata.name: Invalid value"):
                await server.client.create(CONFIG_MAP, parent(0, "Not_A_Name"))

    run_virtual(scenario())
