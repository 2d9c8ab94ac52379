"""Why a RayCluster is not ready: the operator's own plan over what is there now, told to people.

Order of the sentences: nobody works on it; what the plan waits for; what the operator wrote into the status; the head;
the workers. A cluster is ready when its head is, when every group has all its workers, and when no plan is held up.
"""

from collections.abc import Iterator

from heliostat.api.cluster_features import is_autoscaling
from heliostat.api.settings import Settings
from heliostat.desired import labels
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.explain.events import Warnings
from heliostat.explain.explanation import Explanation, Sentence, join_unique
from heliostat.explain.fixes import REFUSAL_FIXES, find_fix
from heliostat.explain.places import count_ready, list_places
from heliostat.explain.pods import find_pod_trouble, tell_troubles, tell_versions
from heliostat.explain.raycluster.autoscaler import tell_autoscaler
from heliostat.explain.scene import OperatorPresence, Scene, look_at
from heliostat.explain.waits import NOT_READY, is_held_up, tell_waits, verdict_of
from heliostat.kube.conditions import get_condition, is_condition_true
from heliostat.kube.facts import Unknown
from heliostat.kube.plan import Plan, WriteStatus
from heliostat.kube.pods import PodView
from heliostat.plan.own_conditions import HINDERED, SPEC_NOT_APPLIED
from heliostat.plan.raycluster.kind import RAY_CLUSTER
from heliostat.plan.raycluster.observed import ObservedCluster
from heliostat.plan.raycluster.pod_health import group_of, node_type
from heliostat.plan.raycluster.status_conditions import REPLICA_FAILURE
from heliostat.plan.table import describe_action

_ENDS = "; this ends when "
_MOST_STEPS = 12


def explain_cluster(scene: Scene, settings: Settings) -> Explanation:
    situation = look_at(RAY_CLUSTER, scene, settings)
    if isinstance(situation, Explanation):
        return situation
    return _tell(scene, situation.observed, situation.desired, RAY_CLUSTER.plan(situation))


def _tell(scene: Scene, observed: ObservedCluster, desired: DesiredCluster | None, plan: Plan) -> Explanation:
    pods = observed.own_pods
    seen = () if isinstance(pods, Unknown) else pods
    steps = tuple(_steps(plan))
    sentences = join_unique(
        (
            *tell_absence(scene.operator, has_work=bool(steps)),
            *tell_waits(plan.waits),
            *_tell_status(observed, frozenset(wait.message for wait in plan.waits)),
            *_tell_pods(seen, Warnings(scene.events)),
        )
    )
    count = count_ready(seen)
    ready = desired is not None and count.has_all(desired) and not is_held_up(plan.waits) and not steps
    so_far = f": {count.out_of(desired)}" if desired is not None and seen else ""
    verdict = f"is ready: {count}" if ready else f"{verdict_of(plan.waits) or NOT_READY}{so_far}"
    return Explanation(
        title=scene.title,
        verdict=verdict,
        is_ready=ready,
        sentences=() if ready else sentences or (_nothing_known(steps),),
        places=list_places(seen),
        steps=steps,
        notes=(
            *(sentences if ready else ()),
            *_tell_unapplied(observed),
            *_notes(observed, desired),
            *tell_versions(seen),
        ),
    )


def tell_absence(operator: OperatorPresence, *, has_work: bool) -> Iterator[Sentence]:
    if has_work and operator is OperatorPresence.ABSENT:
        yield Sentence(
            "no operator seems to be running",
            "there is work to do, and no operator holds its lease or is known to the supervisor of this machine",
            "start one: heliostat up for this machine, heliostat operator for another cluster",
        )


def _nothing_known(steps: tuple[str, ...]) -> Sentence:
    if steps:
        return Sentence("the operator has not created everything yet", "", "wait a moment and ask again")
    return Sentence("not all of its Pods exist yet", "", "wait a moment and ask again")


def _tell_status(observed: ObservedCluster, told: frozenset[str]) -> Iterator[Sentence]:
    """What only the operator can know: how its writes were answered. ``told`` has been said already."""
    hindered = get_condition(observed.conditions, HINDERED)
    for line in str((hindered or {}).get("message", "")).splitlines():
        why, _ends, until = line.partition(_ENDS)
        if why in told:
            continue
        fix = find_fix(REFUSAL_FIXES[:-1], "", why)
        yield Sentence("the operator is blocked", why, fix or f"this ends when {until}")
    failure = get_condition(observed.conditions, REPLICA_FAILURE)
    if failure is not None and is_condition_true(observed.conditions, REPLICA_FAILURE):
        tag, _newline, why = str(failure.get("message", "")).partition("\n")
        why = why or tag
        yield Sentence(
            f"the operator's last write failed: {failure.get('reason')}", why, find_fix(REFUSAL_FIXES, "", why)
        )


def _tell_unapplied(observed: ObservedCluster) -> Iterator[Sentence]:
    told = get_condition(observed.conditions, SPEC_NOT_APPLIED)
    if told is not None and told.get("status") == "True":
        why, _ends, until = str(told.get("message", "")).partition(_ENDS)
        yield Sentence("the running Pods do not follow the spec", why, f"this ends when {until}" if until else "")


def _notes(observed: ObservedCluster, desired: DesiredCluster | None) -> tuple[Sentence, ...]:
    if desired is None or not is_autoscaling(observed.cluster.spec):
        return ()
    return tell_autoscaler(observed.cluster, desired)


def _tell_pods(pods: tuple[PodView, ...], warnings: Warnings) -> tuple[Sentence, ...]:
    """The head first: workers wait for it."""
    ordered = sorted(pods, key=lambda pod: (node_type(pod) != labels.HEAD, pod.name))
    troubles = (find_pod_trouble(pod, warnings) for pod in ordered)
    return tell_troubles((trouble for trouble in troubles if trouble is not None), group_of)


def _steps(plan: Plan) -> Iterator[str]:
    """Without the status, which follows from all the others."""
    actions = [action for action in plan.actions() if not isinstance(action, WriteStatus)]
    for verb, target, why in map(describe_action, actions[:_MOST_STEPS]):
        yield f"{verb} {target}: {why}"
    if len(actions) > _MOST_STEPS:
        yield f"and {len(actions) - _MOST_STEPS} more: heliostat plan shows all"
