"""What an explanation is made from, of any kind: the object, what was read around it, the operator's look at it.

The plan is made from the same objects and by the same row as the operator's, and carried out by nobody.
"""

from collections.abc import Mapping
from enum import StrEnum
from importlib import import_module
from typing import Any

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.explain.explanation import Explanation, Sentence
from heliostat.kube.lookups import KindName
from heliostat.plan.kind import Kind, Surroundings
from heliostat.plan.rayservice.answers import ServeInfo
from heliostat.plan.situation import Situation


class OperatorPresence(StrEnum):
    """Whether an operator works here, as far as its lease or its supervisor tells."""

    RUNNING = "running"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class Scene(Struct, frozen=True, kw_only=True):
    """``cluster`` is the RayCluster that the object waits for, empty without one. ``unread``: kinds, and why."""

    tree: JsonObject
    cluster: JsonObject = {}
    objects: tuple[JsonObject, ...] = ()
    unread: Mapping[KindName, str] = {}
    events: tuple[JsonObject, ...] = ()
    operator: OperatorPresence = OperatorPresence.UNKNOWN
    silence: str = ""  # why the dashboard of that cluster did not answer; empty: it did, or was not asked
    serve: ServeInfo | None = None  # what it answered for Serve
    now: float

    @property
    def title(self) -> str:
        metadata = self.tree["metadata"]
        return f"{self.tree.get('kind')} {metadata.get('namespace', 'default')}/{metadata['name']}"


def explain(kind: Kind[Any, Any, Any], scene: Scene, settings: Settings) -> Explanation:
    """In the words of the kind's own room."""
    explained: Explanation = import_module(kind.name_room("explain")).explain(scene, settings)
    return explained


def look_at(kind: Kind[Any, Any, Any], scene: Scene, settings: Settings) -> Situation[Any, Any, Any] | Explanation:
    """The situation that the operator would be in; an explanation where the object cannot be one of its kind."""
    reviewed = kind.review(scene.tree, settings)
    if reviewed.object is None:
        what, problem = f"this object does not match the {kind.resource.kind} schema", reviewed.refusal
        sentence = Sentence(what, str(problem), problem.fix if problem else "")
        return Explanation(title=scene.title, verdict="is refused", is_ready=False, sentences=(sentence,))
    there = Surroundings(objects=scene.objects, unread=scene.unread)
    return kind.situate_reviewed(reviewed, there, scene.tree, settings, scene.now)
