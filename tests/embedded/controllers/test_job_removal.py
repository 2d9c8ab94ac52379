"""Which active Pods a Job gives up first."""

from typing import Any

import pytest
from msgspec import convert

from heliostat.embedded.controllers.jobs.removal import choose_for_removal
from heliostat.embedded.controllers.views.jobs import Job
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.timestamps import format_timestamp

NOW = 1_700_000_000.0
PLAIN = convert({"metadata": {"name": "j"}, "spec": {"completions": 3}}, Job)
INDEXED = convert({"metadata": {"name": "j"}, "spec": {"completions": 3, "completionMode": "Indexed"}}, Job)


def pod(
    name: str,
    *,
    node: str = "n",
    phase: str = "Running",
    ready: float | None = 100,
    age: float = 100,
    restarts: int = 0,
    tracked: bool = True,
    index: str | None = None,
) -> Pod:
    metadata: dict[str, Any] = {"name": name, "uid": name, "creationTimestamp": format_timestamp(NOW - age)}
    metadata["finalizers"] = ["batch.kubernetes.io/job-tracking"] if tracked else []
    if index is not None:
        metadata["annotations"] = {"batch.kubernetes.io/job-completion-index": index}
    status: dict[str, Any] = {"phase": phase, "containerStatuses": [{"name": "c", "restartCount": restarts}]}
    if ready is not None:
        since = format_timestamp(NOW - ready)
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    return convert({"metadata": metadata, "spec": {"nodeName": node}, "status": status}, Pod)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod("z", node=""), pod("a", phase="Pending")),
        (pod("z", phase="Pending"), pod("a", ready=None)),
        (pod("z", ready=None), pod("a")),
        (pod("z", ready=10), pod("a", ready=20, restarts=3)),
        (pod("z", restarts=2), pod("a", restarts=1, age=50)),
        (pod("z", age=50), pod("a", age=60)),
        (pod("z", tracked=False), pod("a", node="")),
        (pod("a"), pod("z")),
    ],
)
def test_what_is_worth_less_goes_first(first: Pod, second: Pod) -> None:
    for pods in ([first, second], [second, first]):
        assert choose_for_removal(PLAIN, pods, 1) == [first]


@pytest.mark.parametrize(
    ("pods", "at_least", "removed"),
    [
        ([pod("a", index="0"), pod("b", index="1")], 0, set()),
        ([pod("a", index="0"), pod("b", index="0", age=10)], 0, {"b"}),
        ([pod("a", index="0"), pod("b", index="3")], 0, {"b"}),
        ([pod("a", index="0"), pod("b"), pod("c", index="-1"), pod("d", index="x")], 0, {"b", "c", "d"}),
        ([pod("a", index="0"), pod("b", index="0", age=10), pod("c", index="1", age=5)], 2, {"b", "c"}),
        ([pod("a", index="0"), pod("b", index="0", age=10)], 1, {"b"}),
    ],
)
def test_pods_without_an_index_of_their_own_always_go(pods: list[Pod], at_least: int, removed: set[str]) -> None:
    assert {found.metadata.name for found in choose_for_removal(INDEXED, pods, at_least)} == removed
