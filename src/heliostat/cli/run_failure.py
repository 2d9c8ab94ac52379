"""What ``heliostat run`` says of a cluster that does not become ready, while it is still there: what ``explain`` says,
and the last lines of the containers that are to blame."""

import re
from collections.abc import Sequence

from msgspec import structs

from heliostat.api.settings import Settings
from heliostat.cli.cluster_access import Cluster
from heliostat.cli.errors import CommandError
from heliostat.cli.explain import explain_one
from heliostat.cli.targets import Target
from heliostat.explain.explanation import Explanation, format_explanation, join_unique
from heliostat.explain.pods import PodTrouble, find_blamed, tell_troubles
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.pods import ContainerStatus, PodView
from heliostat.local.following import NotReadyError
from heliostat.operator.kinds import POD, RAY_CLUSTER
from heliostat.runtime.calls import path_of
from heliostat.runtime.errors import ApiError
from heliostat.runtime.transport import Call

_READ_LINES = 200
_MOST_LINES = 20
_FRAME = re.compile(r"\[0x[0-9a-f]+\]|^\*\*\* |^PC: @")
_MOST_PODS = 2
_SECONDS = 10.0


async def tell_failure(cluster: Cluster, tree: JsonObject, error: NotReadyError, settings: Settings) -> str:
    target = Target(RAY_CLUSTER, str(tree["metadata"]["name"]))
    return await tell_with_last_lines(cluster, target, error, settings)


async def tell_with_last_lines(cluster: Cluster, target: Target, error: NotReadyError, settings: Settings) -> str:
    parts = []
    try:
        parts.append(format_explanation(_add(await _explain(cluster, target, settings), error.troubles)))
    except (ApiError, CommandError) as problem:
        parts.append(f"{error}; more is not known: {problem}")
    for trouble in _pick(error.troubles):
        lines = await _fetch_last_lines(cluster, trouble.pod)
        if lines:
            parts.append(lines)
    return "\n\n".join(parts)


async def _explain(cluster: Cluster, target: Target, settings: Settings) -> Explanation:
    explained = await explain_one(cluster, target, settings)
    return structs.replace(explained, places=(), steps=())


def _add(explained: Explanation, troubles: Sequence[PodTrouble]) -> Explanation:
    """With the Pods of the same file that are not the cluster's own, which it may depend on, first."""
    told = " ".join(sentence.what for sentence in explained.sentences)
    others = [trouble for trouble in troubles if trouble.pod.name not in told]
    return structs.replace(explained, sentences=join_unique((*tell_troubles(others), *explained.sentences)))


def _pick(troubles: Sequence[PodTrouble]) -> list[PodTrouble]:
    """One for each cause: Pods of one group tell the same."""
    return list({trouble.cause: trouble for trouble in reversed(troubles)}.values())[::-1][:_MOST_PODS]


async def _fetch_last_lines(cluster: Cluster, pod: PodView) -> str:
    """Empty when it has written nothing."""
    blamed = find_blamed(pod)
    if blamed is None:
        return ""
    for is_previous in (False, True) if _runs(blamed) else (True, False):
        lines = pick_lines(await _fetch_log(cluster, pod, blamed.name, is_previous=is_previous))
        if lines:
            shown = "\n".join(f"    {line}" for line in lines)
            return f"the last lines of Pod {pod.name}, container {blamed.name}:\n{shown}"
    return ""


def pick_lines(text: str) -> list[str]:
    """The last ones, without the frames of a native stack: they come after what went wrong and hide it."""
    lines = [line for line in text.rstrip().splitlines() if line.strip() and not _FRAME.search(line)]
    return lines[-_MOST_LINES:]


def _runs(status: ContainerStatus) -> bool:
    return status.state.running is not None or status.last_state.terminated is None


async def _fetch_log(cluster: Cluster, pod: PodView, container: str, *, is_previous: bool) -> str:
    query = [("container", container), ("tailLines", str(_READ_LINES))]
    query += [("previous", "true")] if is_previous else []
    call = Call(
        method="GET",
        path=path_of(POD, pod.namespace, pod.name, "log"),
        query=tuple(query),
        accept="text/plain,application/json,*/*",
    )
    try:
        reply = await cluster.transport.send(call, _SECONDS)
    except ApiError:
        return ""
    return reply.body.decode(errors="replace") if reply.status == 200 else ""
