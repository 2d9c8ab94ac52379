"""What to do for one StatefulSet: claim its Pods, make the next one with its volumes, end one, count.

Nothing is made or ended for a StatefulSet that is on its way out, but its status stays true. Claims are made before
their Pod, once, and never deleted.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from heliostat.embedded.controllers.adoption import Owner, claim_children
from heliostat.embedded.controllers.replicasets.status import decide_wake
from heliostat.embedded.controllers.selection import read_selector
from heliostat.embedded.controllers.statefulsets.identity import (
    build_claim,
    build_member,
    name_claim,
    name_pod,
    read_ordinal,
)
from heliostat.embedded.controllers.statefulsets.status import build_status_tree, decide_status
from heliostat.embedded.controllers.statefulsets.steps import End, Make, Members, decide_steps
from heliostat.embedded.controllers.views.pods import POD, Pod
from heliostat.embedded.controllers.views.statefulsets import STATEFUL_SET, StatefulSet
from heliostat.embedded.controllers.views.volume_claims import Claim
from heliostat.kube.plan import Action, Create, Delete, Event, Plan, Ref, Report, Stage, WriteStatus


class StatefulSetView(Struct, frozen=True):
    owner: StatefulSet
    pods: tuple[Pod, ...]  # those that name it as their controller, and the orphans of its namespace
    find_claim: Callable[[str], Claim | None]  # of its namespace, by name


def plan_stateful_set(view: StatefulSetView, now: float) -> Plan:
    owner = view.owner
    selector = read_selector(owner.spec.selector)
    if selector.matches_nothing or not selector.requirements:
        return Plan()
    mine = Owner(STATEFUL_SET, owner.metadata, selector)
    named = [pod for pod in view.pods if read_ordinal(owner, pod.metadata.name) is not None]
    claim = claim_children(mine, named, POD)
    members = {ordinal: pod for pod in claim.mine if (ordinal := read_ordinal(owner, pod.metadata.name)) is not None}
    stages = [Stage("claim", claim.changes)]
    if not owner.metadata.is_terminating:
        stages += _plan_steps(view, mine, members, now)
    return Plan(
        stages=tuple(stage for stage in stages if stage.actions),
        status=_plan_status(owner, members, now),
        wake_after=decide_wake(members.values(), owner.spec.min_ready_seconds, now),
    )


def _plan_steps(view: StatefulSetView, mine: Owner, members: Members, now: float) -> Iterator[Stage]:
    """Volumes of one Pod that cannot be made keep no other Pod waiting."""
    ends: list[Action] = []
    for step in decide_steps(view.owner, members, now):
        match step:
            case End(pod, because):
                ends.append(_delete(view.owner, pod, because))
            case Make(ordinal):
                yield from _plan_member(view, mine, ordinal)
    yield Stage("ends", tuple(ends), needs=("claim",))


def _plan_member(view: StatefulSetView, mine: Owner, ordinal: int) -> Iterator[Stage]:
    owner, claims = view.owner, f"claims of {ordinal}"
    found = [view.find_claim(name_claim(each, owner, ordinal)) for each in owner.spec.volume_claim_templates]
    if any(claim is not None and claim.metadata.is_terminating for claim in found):
        return  # a volume that is about to go holds nothing that stays
    missing = [each for each, claim in zip(owner.spec.volume_claim_templates, found, strict=True) if claim is None]
    yield Stage(claims, tuple(_create_claim(owner, each, ordinal) for each in missing), needs=("claim",))
    yield Stage(f"Pod {ordinal}", (_create(owner, mine, ordinal),), needs=("claim", claims))


def _create_claim(owner: StatefulSet, claim: dict[str, object], ordinal: int) -> Create:
    tree = build_claim(owner, claim, ordinal)
    pod, kept = name_pod(owner, ordinal), f"create Claim {tree['metadata']['name']}"
    report = Report(
        success=Event(
            "Normal", "SuccessfulCreate", "Create", f"{kept} Pod {pod} in StatefulSet {owner.metadata.name} success"
        ),
        failure=Event("Warning", "FailedCreate", "Create", f"{kept} for Pod {pod} in StatefulSet failed error"),
        separator=": ",
    )
    return Create(tree, f"{pod} keeps its data there", report)


def _create(owner: StatefulSet, mine: Owner, ordinal: int) -> Create:
    """A Pod of that name which is somebody else's is in the way, and has to be told."""
    told = f"create Pod {name_pod(owner, ordinal)} in StatefulSet {owner.metadata.name}"
    report = Report(
        success=Event("Normal", "SuccessfulCreate", "Create", f"{told} successful"),
        failure=Event("Warning", "FailedCreate", "Create", f"{told} failed error"),
        separator=": ",
    )
    because = f"number {ordinal} is missing"
    return Create(build_member(owner, mine, ordinal), because, report, exists_is_fine=False)


def _delete(owner: StatefulSet, pod: Pod, because: str) -> Delete:
    told = f"delete Pod {pod.metadata.name} in StatefulSet {owner.metadata.name}"
    report = Report(
        success=Event("Normal", "SuccessfulDelete", "Delete", f"{told} successful"),
        failure=Event("Warning", "FailedDelete", "Delete", f"{told} failed error"),
        separator=": ",
    )
    ref = Ref(POD.api_version, POD.kind, pod.metadata.namespace, pod.metadata.name)
    return Delete(ref, pod.metadata.uid, because, report=report)


def _plan_status(owner: StatefulSet, members: Members, now: float) -> WriteStatus | None:
    status = decide_status(owner, members.values(), now)
    if status == owner.status:
        return None
    metadata = owner.metadata
    ref = Ref(STATEFUL_SET.api_version, STATEFUL_SET.kind, metadata.namespace, metadata.name)
    because = f"{status.replicas} replicas, {status.ready_replicas} ready, {status.updated_replicas} updated"
    return WriteStatus(ref, metadata.uid, metadata.resource_version, build_status_tree(status), because)
