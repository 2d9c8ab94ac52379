"""The scheduler on the loop: feeds accounts and waiting room from the caches, and answers for one Pod at a time.

The loop asks in any order. Before a Pod is decided on, those ahead of it in the queue are, and what they get is kept
for them. Everything remembered here only delays: capacity assumed taken, Pods parked.
"""

from collections.abc import Iterable, Sequence

import msgspec

from heliostat.embedded.controllers.scheduler.accounts import offers_same
from heliostat.embedded.controllers.scheduler.binding import is_told, plan_binding, plan_refusal, plan_selected_node
from heliostat.embedded.controllers.scheduler.claims import Volumes, judge_volumes
from heliostat.embedded.controllers.scheduler.decide import Cluster, can_take, schedule
from heliostat.embedded.controllers.scheduler.demand import build_demand
from heliostat.embedded.controllers.scheduler.filters import why_not
from heliostat.embedded.controllers.scheduler.preemption import Preemption, decide_preemption
from heliostat.embedded.controllers.scheduler.verdicts import Placement, Unschedulable, tell_unschedulable
from heliostat.embedded.controllers.scheduler.waiting import LONGEST_PARKING, WaitingPod, WaitingRoom
from heliostat.embedded.controllers.views.namespaces import NAMESPACES
from heliostat.embedded.controllers.views.nodes import NODES, Node
from heliostat.embedded.controllers.views.pods import POD, PODS, Pod
from heliostat.embedded.controllers.views.storage_classes import STORAGE_CLASSES
from heliostat.embedded.controllers.views.volume_claims import CLAIMS, Claim
from heliostat.kube.objects import Key, Object
from heliostat.kube.plan import Plan
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, Subject, subject_of

DEFAULT_SCHEDULER = "default-scheduler"
_BINDING_SECONDS = 1.0  # in which a binding shows in the cache; asked again earlier, it may well have been carried out


class Scheduler:
    def __init__(self, caches: Caches, scheduler_name: str = DEFAULT_SCHEDULER) -> None:
        self.name = scheduler_name  # its events tell it, as Pods do that ask for it
        self._pods = caches.of(PODS)
        self._nodes = caches.of(NODES)
        self._claims = caches.of(CLAIMS)
        self._classes = caches.of(STORAGE_CLASSES)
        self._namespaces: dict[str, dict[str, str]] = {}
        self._cluster = Cluster(self._namespaces)
        self._room = WaitingRoom()
        caches.of(NAMESPACES).subscribe(self._namespace_changed)
        self._nodes.subscribe(self._cluster.accounts.change_node)
        self._pods.subscribe(self._pod_changed)

    def sources(self) -> Sequence[Source]:
        return (
            Source(self._pods, self._keys_of_pod),
            Source(self._nodes, self._keys_of_node),
            Source(self._claims, self._keys_of_claim),
        )

    def subject(self, key: Key) -> Subject | None:
        pod = self._pods.get(key)
        return subject_of(pod, POD.api_version, POD.kind) if pod is not None else None

    def plan(self, key: Key, now: float) -> Plan:
        entry = self._room.get(key)
        if entry is None:
            return Plan()
        if entry.bound_at is not None and now < entry.bound_at + _BINDING_SECONDS:
            return Plan(wake_after=entry.bound_at + _BINDING_SECONDS - now)
        rest = self._room.seconds_until_due(entry, now)
        if rest > 0 and (not entry.is_parked or is_told(entry.pod, entry.told)):
            return Plan(wake_after=rest)
        for ahead in self._room.ahead_of(entry, now):
            self._decide(ahead)
        self._room.take(entry)
        volumes, verdict = self._decide(entry)
        if isinstance(verdict, Unschedulable):
            return self._refuse(entry, verdict, now)
        if volumes.waiting:
            return plan_selected_node(volumes.waiting, verdict.node)
        entry.bound_at = now
        return plan_binding(entry.pod, verdict.node)

    def _decide(self, entry: WaitingPod) -> tuple[Volumes, Placement | Unschedulable]:
        """The verdict; a place is taken from now on."""
        demand, accounts = entry.demand, self._cluster.accounts
        volumes = self._judge_volumes(entry.pod)
        entry.is_blocked = bool(volumes.blocked)
        kept = accounts.assumed_place(demand.key)
        accounts.forget(demand.key)
        preferred = kept or volumes.chosen
        verdict: Placement | Unschedulable
        if preferred and not volumes.blocked and can_take(demand, preferred, self._cluster):
            verdict = Placement(preferred)
        else:
            verdict = schedule(demand, self._cluster, volumes.blocked)
        if isinstance(verdict, Placement):
            accounts.assume(demand.load, verdict.node)
        return volumes, verdict

    def _refuse(self, entry: WaitingPod, verdict: Unschedulable, now: float) -> Plan:
        outcome = decide_preemption(entry.demand, verdict, self._cluster)
        victims: list[Pod] = []
        if isinstance(outcome, Preemption):
            message, nominated = tell_unschedulable(verdict), outcome.node
            victims = [pod for load in outcome.victims if (pod := self._pods.get(load.key)) is not None]
        else:
            message = tell_unschedulable(verdict, outcome.text)
            nominated = entry.demand.nominated if outcome.keeps_nomination else ""
        self._room.park(entry, message, now)
        plan = plan_refusal(entry.pod, message, nominated, victims, now)
        return msgspec.structs.replace(plan, wake_after=LONGEST_PARKING)

    def _judge_volumes(self, pod: Pod) -> Volumes:
        if not pod.spec.volumes:
            return Volumes()
        namespace = pod.metadata.namespace
        return judge_volumes(
            pod,
            lambda name: self._claims.get(Key(namespace, name)),
            lambda name: self._classes.get(Key("", name)),
        )

    def _waits(self, pod: Pod | None) -> bool:
        """It is ours to place: unbound, alive, ungated, and it names this scheduler."""
        return (
            pod is not None
            and not pod.spec.node_name
            and pod.is_active
            and not pod.spec.scheduling_gates
            and (pod.spec.scheduler_name or DEFAULT_SCHEDULER) == self.name
        )

    def _pod_changed(self, before: Pod | None, after: Pod | None) -> None:
        self._cluster.change_pod(before, after)
        if after is None or not self._waits(after):
            item = after or before
            if item is not None:
                self._room.leave(item.metadata.key)
            return
        entry = self._room.get(after.metadata.key)
        if entry is None or not _asks_same(entry.pod, after):
            self._room.arrive(after, build_demand(after))
        else:
            entry.pod = after
            entry.demand = msgspec.structs.replace(entry.demand, nominated=after.status.nominated_node_name)

    def _namespace_changed(self, before: Object | None, after: Object | None) -> None:
        if after is not None:
            self._namespaces[after.metadata.name] = after.metadata.labels
        elif before is not None:
            self._namespaces.pop(before.metadata.name, None)

    def _keys_of_pod(self, before: Pod | None, after: Pod | None) -> Iterable[Key]:
        if after is not None and self._waits(after):
            return (after.metadata.key,)
        did_take, does_take = _takes(before), _takes(after)
        if did_take == does_take:
            return ()
        left = before.spec.node_name if before is not None and did_take and not does_take else ""
        return self._wake(left)

    def _keys_of_node(self, before: Node | None, after: Node | None) -> Iterable[Key]:
        if after is None or (before is not None and offers_same(before, after)):
            return ()
        return self._wake(after.metadata.name)

    def _keys_of_claim(self, before: Claim | None, after: Claim | None) -> Iterable[Key]:
        item = after or before
        if item is None:
            return ()
        woken = self._room.wake(lambda entry: entry.is_blocked)
        waiting = self._room.in_namespace(item.metadata.namespace)
        return {*woken, *(entry.demand.key for entry in waiting if entry.pod.spec.volumes)}

    def _wake(self, changed_node: str) -> list[Key]:
        """Parked Pods that could go to this node now, or that care who runs where."""
        account = self._cluster.accounts.registered.get(changed_node)

        def could_help(entry: WaitingPod) -> bool:
            if entry.is_blocked:
                return False
            return entry.speaks_of_others or (account is not None and why_not(entry.demand, account) is None)

        return self._room.wake(could_help)


def _takes(pod: Pod | None) -> bool:
    return pod is not None and bool(pod.spec.node_name) and not pod.is_over


def _asks_same(before: Pod, after: Pod) -> bool:
    return (
        before.metadata.uid == after.metadata.uid
        and before.spec == after.spec
        and before.metadata.labels == after.metadata.labels
    )
