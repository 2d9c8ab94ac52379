"""``heliostat run``, without its terminal: apply the documents, and run a command as a Ray job.

``following.py`` waits in between and ``taking_down.py`` ends it. A server that is away for a moment is asked again.
"""

import asyncio
import shlex
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.local.cluster_token import fetch_token
from heliostat.local.following import RunError
from heliostat.local.service_dashboard import ServiceDashboard
from heliostat.local.session import Session
from heliostat.local.taking_down import Made
from heliostat.ray.jobs import DashboardError, JobInfo, Jobs
from heliostat.ray.packages import build_package

T = TypeVar("T")

_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 60.0  # for a dashboard or a server that does not answer


class Show(Struct, frozen=True):
    """What a person sees: the words of the job, and what is said about it."""

    words: Callable[[str], None]
    note: Callable[[str], None]


async def apply_all(
    session: Session,
    documents: Sequence[JsonObject],
    namespace: str,
    made: list[Made],
    note: Callable[[str], None],
    wait_gone: Callable[[JsonObject], Awaitable[None]] | None = None,
) -> None:
    """``namespace`` is for documents that name none. ``made`` grows, so that also a failure leaves what there is.

    ``wait_gone`` is for one that is being deleted: what is written to it goes with it.
    """
    for given in documents:
        document = await session.place(given, namespace)
        before = await session.find(document)
        if wait_gone is not None and before is not None and "deletionTimestamp" in before["metadata"]:
            await wait_gone(before)
            before = await session.find(document)
        after = await session.apply(document)
        is_changed = before is None or before["metadata"]["resourceVersion"] != after["metadata"]["resourceVersion"]
        made.append(Made(after, before is None, is_changed))
        word = "created" if before is None else "configured" if is_changed else "unchanged"
        note(f"{document['kind']} {document['metadata']['name']} {word}")


async def run_job(
    session: Session, cluster: JsonObject, command: Sequence[str], working_directory: Path, id_: str, show: Show
) -> int:
    """The exit code of the command."""
    head = (cluster.get("status") or {}).get("head") or {}
    service = head.get("serviceName")
    if not service:
        raise RunError(f"RayCluster {cluster['metadata']['name']} has no head service yet")
    token = await fetch_token(session, cluster)
    jobs = Jobs(ServiceDashboard(session.transport, cluster["metadata"]["namespace"], service, token))
    await _wait_for_dashboard(jobs)
    package = await asyncio.to_thread(build_package, working_directory)
    await _patiently(lambda: jobs.upload(package.name, package.content))
    runtime_env = {"working_dir": package.address}
    await _patiently(lambda: jobs.submit(shlex.join(command), id_, runtime_env))
    return (await follow_job(jobs, id_, show)).exit_code


async def _wait_for_dashboard(jobs: Jobs) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not await jobs.is_there():
        if time.monotonic() > deadline:
            raise RunError(
                f"the Ray dashboard did not answer within {_PATIENCE_SECONDS:.0f} s; look at the head's logs"
            )
        await asyncio.sleep(_POLL_SECONDS)


async def follow_job(jobs: Jobs, id_: str, show: Show) -> JobInfo:
    """Its words as they come, until it is over."""
    told = 0
    while True:
        info = await _patiently(lambda: jobs.info(id_))
        text = await _patiently(lambda: jobs.logs(id_))
        if len(text) > told:
            show.words(text[told:])
            told = len(text)
        if info.is_over:
            if info.message and info.exit_code:
                show.note(info.message)
            return info
        await asyncio.sleep(_POLL_SECONDS)


async def _patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """Again and again while nothing answers: processes of ours may die and come back."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return await ask()
        except DashboardError as error:
            if error.status not in (0, 500, 502, 503, 504) or time.monotonic() > deadline:
                raise RunError(f"the Ray dashboard refuses: {error}") from None
        await asyncio.sleep(_POLL_SECONDS)
