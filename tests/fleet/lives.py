"""The lives of many RayClusters as data: what each is asked to be, one shape after the other, and when.

A life is a row of shapes; None means that the cluster is not there. Going from one shape to the next is a create, a
patch of the spec or a delete. Nothing waits for an operator: people and autoscalers do not either.
"""

import random
from typing import Any, TypeAlias

from msgspec import Struct

Tree: TypeAlias = dict[str, Any]

HEAD = "head"
GROUPS = ("small", "large")
CLUSTERS = "/apis/ray.io/v1/namespaces/default/rayclusters"


class Shape(Struct, frozen=True):
    small: int = 1
    large: int = 1
    suspend: bool = False

    def pods(self) -> dict[str, int]:
        """How many of each role there should be, without those of which there should be none."""
        wanted = {} if self.suspend else {HEAD: 1, "small": self.small, "large": self.large}
        return {role: count for role, count in wanted.items() if count}


LIVES: tuple[tuple[Shape | None, ...], ...] = (
    (Shape(1, 0), Shape(3, 1), Shape(2, 0)),  # grows and shrinks
    (Shape(3, 1), Shape(1, 1), Shape(2, 2)),  # shrinks and grows
    (Shape(), Shape(suspend=True), Shape()),  # rests and wakes
    (Shape(2, 1), Shape(3, 0), Shape(3, 0, suspend=True)),  # grows, and is put to rest
    (Shape(2, 0), None),  # goes
    (Shape(2, 1), None, Shape(1, 0)),  # goes and comes back under its name
    (Shape(), Shape(suspend=True), None, Shape(0, 1)),  # goes while it rests, and comes back
    (Shape(suspend=True), Shape(1, 2)),  # begins at rest
    (Shape(1, 1), Shape(2, 2), Shape(suspend=True), Shape(1, 0), None),  # has all of it
    (Shape(0, 0), Shape(2, 0), Shape(0, 2)),  # moves from one group to the other
)


class Turn(Struct, frozen=True):
    """At this moment, in seconds from the beginning, the cluster of this number is asked to be so."""

    at: float
    number: int
    shape: Shape | None
    is_new: bool


def name_of(number: int) -> str:
    return f"ray-{number}"


def life_of(number: int) -> tuple[Shape | None, ...]:
    return LIVES[number % len(LIVES)]


def plan_turns(clusters: int, seconds: float, seed: int) -> list[Turn]:
    """Each life at its own pace, some in a hurry, all of them over in time."""
    chance = random.Random(seed)  # noqa: S311
    turns: list[Turn] = []
    for number in range(clusters):
        life = life_of(number)
        moments = sorted(chance.uniform(0.0, seconds) for _ in life)
        for index, (moment, shape) in enumerate(zip(moments, life, strict=True)):
            turns.append(Turn(moment, number, shape, is_new=index == 0 or life[index - 1] is None))
    return sorted(turns, key=lambda turn: turn.at)


def build_cluster(number: int, shape: Shape) -> Tree:
    spec = {
        "rayVersion": "2.52.0",
        "headGroupSpec": {"rayStartParams": {}, "template": _template("ray-head")},
        **build_spec_changes(shape),
    }
    metadata = {"name": name_of(number), "namespace": "default"}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec}


def build_spec_changes(shape: Shape) -> Tree:
    groups = [
        {
            "groupName": group,
            "replicas": getattr(shape, group),
            "minReplicas": 0,
            "maxReplicas": 10,
            "rayStartParams": {},
            "template": _template("ray-worker"),
        }
        for group in GROUPS
    ]
    return {"suspend": shape.suspend, "workerGroupSpecs": groups}


def _template(container: str) -> Tree:
    resources = {"limits": {"cpu": "100m", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "1Gi"}}
    return {"spec": {"containers": [{"name": container, "image": "ray:2.52.0", "resources": resources}]}}
