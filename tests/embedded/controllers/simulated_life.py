"""One Pod on a simulated node, step by step, with everything that is decided about it written back."""

from typing import Any

import msgspec

from embedded.controllers.cluster_shapes import pod_tree
from heliostat.embedded.controllers.nodes.conduct import ANNOTATION, read_conduct
from heliostat.embedded.controllers.nodes.stages import DEFAULT_STAGES, REMOVE, Stage
from heliostat.embedded.controllers.nodes.statuses import Host, build_status
from heliostat.embedded.controllers.nodes.steps import Later, Rest, next_step
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.kube.jsontree import JsonObject, merge_patch
from heliostat.kube.timestamps import format_timestamp

NOON = 1_769_860_800.0  # 2026-01-31T12:00:00Z
HOST = Host("10.0.0.10", "10.244.0.2")


class SimulatedLife:
    def __init__(
        self, asked: str = "", *, stages: tuple[Stage, ...] = DEFAULT_STAGES, labels: Any = None, **spec: Any
    ) -> None:
        spec.setdefault("restartPolicy", "Always")
        self.tree = pod_tree("pod", nodeName="node-0", labels=labels, **spec)
        self.tree["metadata"]["annotations"] = {ANNOTATION: asked}
        self.now = NOON
        self.stages = stages

    @property
    def status(self) -> JsonObject:
        status: JsonObject = self.tree["status"]
        return status

    @property
    def pod(self) -> Pod:
        return msgspec.convert(self.tree, Pod)

    def step(self) -> str | float:
        """What was done, for how long to wait, or ``rest``."""
        conduct = read_conduct(self.pod.metadata.annotations)
        step = next_step(self.pod, self.now, self.stages, conduct)
        if isinstance(step, Rest):
            return "rest"
        if isinstance(step, Later):
            return step.seconds
        if step.do != REMOVE:
            self.tree = merge_patch(self.tree, {"status": build_status(self.pod, step, HOST, self.now)})
        return step.do

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def delete(self, grace: int) -> None:
        gone = {"deletionTimestamp": format_timestamp(self.now + grace), "deletionGracePeriodSeconds": grace}
        self.tree = merge_patch(self.tree, {"metadata": gone})

    def say_condition(self, type_: str, status: str) -> None:
        others = [found for found in self.status["conditions"] if found["type"] != type_]
        self.tree = merge_patch(self.tree, {"status": {"conditions": [*others, {"type": type_, "status": status}]}})
