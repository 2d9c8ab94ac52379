"""A recorded case, played: its RayClusters are applied in a namespace of their own, and one looks what comes of it."""

import re
from typing import Any

from msgspec import Struct

from conformance.operator.administrator import EVENT
from conformance.operator.worlds import Operated
from conformance.operator.write_log import Write
from golden_cases import GoldenCase
from heliostat.api.documents import is_ray_document
from heliostat.kube.documents import read_documents
from heliostat.operator.kinds import RAY_CLUSTER

Tree = dict[str, Any]


class Played(Struct, frozen=True):
    """``events`` are those about RayClusters."""

    namespace: str
    writes: list[Write]
    events: list[Tree]
    clusters: list[Tree]

    @property
    def kept(self) -> list[Tree]:
        """What was created, as the server keeps it."""
        return [write.answer for write in self.writes if write.use.verb == "create" and write.is_done]

    @property
    def created(self) -> list[Tree]:
        return [write.tree for write in self.writes if write.use.verb == "create" and write.is_done]


def namespace_of(case: GoldenCase) -> str:
    return re.sub(r"[^a-z0-9]+", "-", str(case).lower())


def clusters_of(case: GoldenCase) -> list[Tree]:
    """The case's RayClusters as their author wrote them; empty if the case is about another kind."""
    documents = [document.tree for document in read_documents(case.input.read_bytes(), case.input.name)]
    ray = [tree for tree in documents if is_ray_document(tree)]
    return ray if all(tree["kind"] == RAY_CLUSTER.kind for tree in ray) else []


async def apply_case(operated: Operated, case: GoldenCase) -> None:
    namespace = namespace_of(case)
    await operated.world.make_namespace(namespace)
    for tree in clusters_of(case):
        metadata = tree["metadata"] | {"namespace": namespace}
        await operated.admin.create(RAY_CLUSTER, tree | {"metadata": metadata})


async def observe(operated: Operated, namespace: str) -> Played:
    events = await operated.admin.items(EVENT, namespace)
    return Played(
        namespace=namespace,
        writes=operated.log.in_namespace(namespace),
        events=[event for event in events if event["regarding"]["kind"] == RAY_CLUSTER.kind],
        clusters=await operated.admin.items(RAY_CLUSTER, namespace),
    )


async def play(operated: Operated, case: GoldenCase) -> Played:
    """Afterwards the namespace is gone, and everything in it."""
    await apply_case(operated, case)
    await operated.rest()
    namespace = namespace_of(case)
    played = await observe(operated, namespace)
    await operated.world.remove_namespace(namespace)
    operated.log.forget(namespace)
    return played
