"""The course of one ``heliostat run`` on a local Kubernetes that is up: apply, follow, run the command, take down.

Whatever ends it, a person is told first what happened and why, and only then is anything taken down. The first Ctrl-C
takes down too; the second does not wait for that.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct

from heliostat.api.settings import Settings
from heliostat.cli import down
from heliostat.cli.addresses import at_an_address
from heliostat.cli.cluster_access import Cluster
from heliostat.cli.dashboard import USUAL_PORT, build_finder
from heliostat.cli.errors import INTERRUPTED, CommandError
from heliostat.cli.explain import explain_one
from heliostat.cli.forwarding import HOST
from heliostat.cli.run_documents import RAY_CLUSTER, RAY_JOB, RAY_SERVICE, find_main
from heliostat.cli.run_failure import tell_failure
from heliostat.cli.run_service import serve, tell_service_failure
from heliostat.cli.targets import Target
from heliostat.explain.explanation import format_explanation
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_micro_timestamp
from heliostat.local.following import NotReadyError, RunError, follow_until_ready
from heliostat.local.job_following import Followed, JobFollower
from heliostat.local.running import Show, apply_all, run_job
from heliostat.local.service_following import Followed as FollowedService
from heliostat.local.session import Session, UnknownKindError
from heliostat.local.state import State
from heliostat.local.taking_down import Made, find_leaving, find_staying, take_down, wait_gone
from heliostat.local.view import View
from heliostat.local.ways import open_way
from heliostat.operator.kinds import RAY_CLUSTER as RAY_CLUSTER_TYPE
from heliostat.operator.kinds import RAY_JOB as RAY_JOB_TYPE
from heliostat.operator.kinds import RAY_SERVICE as RAY_SERVICE_TYPE
from heliostat.ray.packages import PackageError
from heliostat.runtime.client import Client
from heliostat.runtime.errors import ApiError
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection

_PATIENCE_SECONDS = 60.0  # our processes may die and come back
_REQUEST_SECONDS = 30.0
_GONE_SECONDS = 120.0


class Wishes(Struct, frozen=True, kw_only=True):
    command: tuple[str, ...]
    working_directory: Path
    namespace: str
    keeps: bool
    keeps_on_failure: bool
    deadline: float  # for the cluster to be ready, on the monotonic clock


class Course:
    """``is_ours``: the local Kubernetes was started for this."""

    def __init__(
        self,
        state: State,
        documents: Sequence[JsonObject],
        settings: Settings,
        wishes: Wishes,
        view: View,
        *,
        is_ours: bool,
    ) -> None:
        self._state = state
        self._documents = documents
        self._settings = settings
        self._wishes = wishes
        self._view = view
        self._is_ours = is_ours
        self._stays = wishes.keeps
        self._made: list[Made] = []
        self._began = ""  # to apply the documents

    def run(self) -> int:
        """The exit code. Raises CommandError."""
        try:
            return asyncio.run(self._run())
        except KeyboardInterrupt:
            return INTERRUPTED
        except (RunError, PackageError, ApiError, UnknownKindError) as error:
            raise CommandError(str(error), 1) from None
        finally:
            self._view.clear()
            if self._is_ours and not self._stays:
                self._stop()

    def _stop(self) -> None:
        try:
            down.stop(self._state, self._view)
        except KeyboardInterrupt:
            self._view.note("interrupted while it stops; heliostat status tells whether something is left")

    async def _run(self) -> int:
        connection = find_connection(os.environ, self._state.kubeconfig, "")
        transport = HttpsTransport(connection, "heliostat-run")
        left = max(0.0, self._wishes.deadline - time.monotonic())
        client = Client(transport, clock=time.monotonic, request_seconds=_REQUEST_SECONDS)
        session = Session(transport, client, min(_PATIENCE_SECONDS, left))
        self._cluster = Cluster(connection, transport, self._wishes.namespace, self._state)
        try:
            return await self._apply_and_run(session)
        finally:
            await transport.close()

    async def _apply_and_run(self, session: Session) -> int:
        code = 1
        try:
            code = await self._work(session)
        except NotReadyError as error:
            await self._tell_failure(error)
            raise
        except asyncio.CancelledError:
            code = INTERRUPTED
            self._tell_interrupted()
            raise
        finally:
            await self._clean_up(session, code)
        return code

    async def _work(self, session: Session) -> int:
        wishes, view = self._wishes, self._view
        self._began = format_micro_timestamp(time.time())
        view.show(("… applying the documents",))
        wait_gone = partial(self._wait_gone, session)
        await apply_all(session, self._documents, wishes.namespace, self._made, view.note, wait_gone)
        trees = [each.tree for each in self._made]
        cluster = find_main(trees)
        if cluster["kind"] == RAY_JOB:
            return await self._follow_job(session, cluster, trees)
        if cluster["kind"] == RAY_SERVICE:
            return await self._follow_service(session, cluster, trees)
        ready = await follow_until_ready(
            session, trees, cluster, lambda seen: view.show(seen.lines), wishes.deadline, self._is_done
        )
        view.done()
        if not wishes.command:
            await self._tell_how_to_go_on(ready)
            return 0
        id_ = f"heliostat-{os.getpid()}-{time.time_ns() // 1_000_000}"
        show = Show(words=_print_words, note=view.note)
        async with self._dashboard(ready) as address:
            view.note(f"dashboard: {address}")
            return await run_job(session, ready, wishes.command, wishes.working_directory, id_, show)

    async def _wait_gone(self, session: Session, tree: JsonObject) -> None:
        """Raises RunError when that takes too long."""
        if await wait_gone(session, [tree], self._view.show, self._wishes.deadline):
            word = f"{tree['kind'].lower()}/{tree['metadata']['name']}"
            raise RunError(
                f"{word} was being deleted and is still there (--timeout); heliostat explain {word} tells what holds it"
            )

    async def _follow_job(self, session: Session, job: JsonObject, trees: Sequence[JsonObject]) -> int:
        show = Show(words=self._print_below, note=self._view.note)
        followed = Followed(job=job, trees=trees, deadline=self._wishes.deadline)
        follower = JobFollower(session, followed, self._view.show, show)
        try:
            code = await follower.follow()
        except asyncio.CancelledError:
            self._view.done()
            self._view.note(await follower.stop())
            raise
        self._view.done()
        if code:
            await self._explain_job(job)
        return code

    async def _follow_service(self, session: Session, service: JsonObject, trees: Sequence[JsonObject]) -> int:
        """It stays, as a cluster does that nobody gave a program for."""
        is_changed = any(each.tree is service and each.is_changed for each in self._made)
        since = self._began if is_changed else ""
        followed = FollowedService(service=service, trees=trees, deadline=self._wishes.deadline, since=since)
        changed = [each.tree for each in self._made if each.is_changed and not each.is_new]
        await serve(session, self._state, followed, self._view, changed)
        await self._tell_rest(service)
        self._stays = True
        return 0

    async def _tell_rest(self, service: JsonObject) -> None:
        """It serves: what of the file is not carried out all the same, such as a GatewayClass that is not there."""
        self._cluster.namespace = service["metadata"]["namespace"]
        target = Target(RAY_SERVICE_TYPE, service["metadata"]["name"])
        try:
            explained = await explain_one(self._cluster, target, self._settings)
        except (ApiError, CommandError):
            return
        for sentence in explained.sentences:
            self._view.note(f"! {sentence.what}: {sentence.why}\n  fix: {sentence.fix}")

    async def _explain_job(self, job: JsonObject) -> None:
        """Before anything of it is taken down."""
        self._cluster.namespace = job["metadata"]["namespace"]
        try:
            explained = await explain_one(self._cluster, Target(RAY_JOB_TYPE, job["metadata"]["name"]), self._settings)
        except (ApiError, CommandError) as problem:
            self._view.note(f"more is not known: {problem}")
        else:
            self._view.note(format_explanation(explained))

    def _print_below(self, text: str) -> None:
        """The driver's words stay where they are, and the states go on below them."""
        self._view.done()
        _print_words(text)

    @asynccontextmanager
    async def _dashboard(self, cluster: JsonObject) -> AsyncIterator[str]:
        """An address on this machine: for as long as the cluster is there, or else as this goes on."""
        namespace, name = cluster["metadata"]["namespace"], cluster["metadata"]["name"]
        self._cluster.namespace = namespace
        way = await asyncio.to_thread(open_way, self._state, namespace, name) if self._stays else None
        if way is not None:
            yield way.address
            return
        async with at_an_address(self._cluster, build_finder(self._cluster, name), USUAL_PORT) as port:
            yield f"http://{HOST}:{port} (while this runs)"

    async def _is_done(self, cluster: JsonObject) -> bool:
        """Whether the operator's own plan has nothing left to do."""
        self._cluster.namespace = cluster["metadata"]["namespace"]
        target = Target(RAY_CLUSTER_TYPE, cluster["metadata"]["name"])
        explained = await explain_one(self._cluster, target, self._settings)
        return explained.is_ready

    async def _tell_failure(self, error: NotReadyError) -> None:
        cluster = find_main(each.tree for each in self._made)
        self._cluster.namespace = cluster["metadata"]["namespace"]
        self._view.done()
        if cluster["kind"] == RAY_JOB:
            await self._explain_job(cluster)
            return
        if cluster["kind"] == RAY_SERVICE:
            self._view.note(await tell_service_failure(self._cluster, cluster, error, self._settings))
            return
        self._view.note(await tell_failure(self._cluster, cluster, error, self._settings))

    def _tell_interrupted(self) -> None:
        self._view.done()
        for tree in find_staying(self._made):
            word = f"{tree['kind'].lower()}/{tree['metadata']['name']}"
            self._view.note(
                f"interrupted: {word} was there before and goes on; heliostat explain {word} tells how it is"
            )
            return
        if self._wishes.keeps:
            self._view.note("interrupted; everything stays up (--keep): heliostat down stops it")
        else:
            self._view.note("interrupted: taking down what was made; Ctrl-C again does not wait for it")

    async def _clean_up(self, session: Session, code: int) -> None:
        """Nothing, when it is to stay."""
        self._view.done()
        if code and self._wishes.keeps_on_failure and not self._stays:
            self._stays = True
            self._tell_kept()
        if self._stays:
            return
        if code not in (0, INTERRUPTED) and find_leaving(self._made):
            self._view.note("taking down what was made; --keep-on-failure leaves it up to look at")
        try:
            await self._take_down(session)
        except BaseException as error:  # whatever ends it: what is left up is told, and the error goes on
            self._stays = True  # also what the second Ctrl-C leaves
            self._view.clear()
            is_asked_for = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
            left = "not waited for: what is being deleted goes by itself" if is_asked_for else "left as it is"
            self._view.note(f"{left}; heliostat down stops everything")
            raise

    async def _take_down(self, session: Session) -> None:
        left = await take_down(session, self._made, self._view.show, _GONE_SECONDS)
        self._view.clear()
        for tree in left:
            word = f"{tree['kind'].lower()}/{tree['metadata']['name']}"
            rest = "" if self._is_ours else f" and goes on by itself; heliostat explain {word} tells what holds it up"
            self._view.note(f"{word} is still being deleted after {_GONE_SECONDS:.0f} s{rest}")

    def _tell_kept(self) -> None:
        made = [(each.tree["kind"], each.tree["metadata"]["name"]) for each in self._made]
        self._view.note(f"everything is left up (--keep-on-failure): export KUBECONFIG={self._state.kubeconfig}")
        for kind, name in made:
            if kind in (RAY_CLUSTER, RAY_JOB, RAY_SERVICE):
                word = f"{kind.lower()}/{name}"
                self._view.note(f"heliostat explain {word} tells more; heliostat down stops everything")

    async def _tell_how_to_go_on(self, cluster: JsonObject) -> None:
        self._stays = True  # somebody wants to use it
        namespace, name = cluster["metadata"]["namespace"], cluster["metadata"]["name"]
        way = await asyncio.to_thread(open_way, self._state, namespace, name)
        print(f"ready; export KUBECONFIG={self._state.kubeconfig}")
        print(f"dashboard: {way.address}" if way is not None else f"heliostat dashboard {name} opens its dashboard")
        print(f"heliostat delete raycluster/{name} takes the cluster down; heliostat down stops everything")


def _print_words(text: str) -> None:
    print(text, end="", flush=True)
