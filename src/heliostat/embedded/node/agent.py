"""Pods of our nodes on the loop: what has run so far and what the API wants become the next steps and the status.

``lifecycle.decide`` and ``statuses.build_status`` decide; steps are effects of the plan, carried out by the workbench.
A step that fails is told in the Pod's status and tried again with the loop's back-off.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from heliostat.embedded.node import lifecycle
from heliostat.embedded.node.attendance import Attendance
from heliostat.embedded.node.imaging.image_pulls import ImagePulls
from heliostat.embedded.node.imaging.image_versions import judge_versions
from heliostat.embedded.node.imaging.image_waits import hold_back
from heliostat.embedded.node.isolating import plain_pods
from heliostat.embedded.node.lifecycle import Decision, Dismantle, Release, Situation, Step, Stop
from heliostat.embedded.node.own_pods import OwnPods
from heliostat.embedded.node.pods import POD, NodePod
from heliostat.embedded.node.statuses import Place, Trouble, build_status
from heliostat.embedded.node.step_reports import build_failure_events, build_news, build_report, find_troubles
from heliostat.embedded.node.storage_watch import read_eviction
from heliostat.embedded.node.workbench import Workbench
from heliostat.kube.objects import Key
from heliostat.kube.plan import Delete, Effect, Event, JsonObject, Plan, Ref, Stage, WriteStatus
from heliostat.runtime.outcome import Outcome
from heliostat.runtime.reconciler import Signal, Source, Subject, signalled, subject_of

STEP = "pod-step"
ENDED = ("Succeeded", "Failed")


class StepOrder(Struct, frozen=True):
    """A step on its way through the plan."""

    pod: NodePod
    step: Step


class _Remembered(Struct):
    """Only for this life of the node: what was reported, and what stands in the way."""

    reported: JsonObject | None = None
    troubles: dict[str, Trouble] = {}
    events: list[Event] = []  # to be told at the next look
    explained: set[str] = set()  # the runs of which it was told why they could not start


class PodAgent:
    name = "kubelet"

    def __init__(self, pods: OwnPods, bench: Workbench, attendance: Attendance, pulls: ImagePulls) -> None:
        self._pods = pods
        self._bench = bench
        self._attendance = attendance
        self._pulls = pulls
        self._again = Signal()
        self._keys: dict[str, Key] = {}
        self._remembered: dict[str, _Remembered] = {}

    def sources(self) -> Sequence[Source]:
        return (Source(self._again, signalled), *self._pods.sources())

    def changed(self, uid: str) -> None:
        """Something happened to the Pod on this machine."""
        key = self._keys.get(uid)
        if key is not None:
            self._again.send(key)

    def subject(self, key: Key) -> Subject | None:
        pod = self._pods.get(key)
        if pod is None:
            return None
        self._keys[pod.metadata.uid] = key
        return subject_of(pod, POD.api_version, POD.kind)

    def tell(self, uid: str, event: Event) -> None:
        """At the next look, which is soon."""
        self._remembered.setdefault(uid, _Remembered()).events.append(event)
        self.changed(uid)

    def keep_only(self, uids: Collection[str]) -> None:
        """All other Pods are gone."""
        for known in (self._keys, self._remembered):
            for uid in known.keys() - uids:
                del known[uid]
        self._pulls.keep_only(uids)

    def plan(self, key: Key, now: float) -> Plan:
        pod = self._pods.get(key)
        if pod is None:
            return Plan()
        if self._pods.is_on_lost_node(pod):
            return self._lose(pod)
        situation = self.observe(pod, now)
        held = hold_back(pod, lifecycle.decide(situation), self._pulls, now)
        remembered = self._remembered.setdefault(pod.metadata.uid, _Remembered())
        status = build_status(situation, self._place(pod, situation, remembered.troubles | held.troubles))
        due = self._due(pod, status, remembered)
        is_told_first = due is not None and _has_just_ended(pod, status)  # of a Pod that is gone nobody can be told
        events, remembered.events = remembered.events, []
        return Plan(
            stages=() if is_told_first else tuple(self._stages(pod, held.decision)),
            status=due,
            events=(*events, *build_news(situation, status if due is not None else {}, remembered.explained)),
            wake_after=held.decision.wake_after,
        )

    def _lose(self, pod: NodePod) -> Plan:
        """Its node has no power: nothing of it runs, and nobody is told."""
        has_sandbox = self._bench.sandbox(pod.metadata.uid) is not None
        return Plan(stages=(Stage("lose", (self._effect(pod, Dismantle()),)),) if has_sandbox else ())

    def observe(self, pod: NodePod, now: float) -> Situation:
        uid = pod.metadata.uid
        runs = self._bench.runs(uid)
        return Situation(
            pod=pod,
            runs=runs,
            has_sandbox=self._bench.sandbox(uid) is not None,
            was_prepared=self._bench.has_been(uid),
            health=self._attendance.health(pod, runs),
            earlier=self._bench.earlier_runs(uid),
            evicted=read_eviction(self._bench.place(uid)),
            now=now,
        )

    def after(self, key: Key, outcome: Outcome) -> None:
        """What could not be done is shown in the status until it can."""
        pod = self._pods.get(key)
        if pod is None:
            return
        self._attendance.attend(pod, self._bench.runs(pod.metadata.uid))
        remembered = self._remembered.setdefault(pod.metadata.uid, _Remembered())
        troubles = find_troubles(outcome)
        remembered.events += build_failure_events(outcome)
        if any(isinstance(failure.action, WriteStatus) for failure in outcome.failures):
            remembered.reported = None  # it did not arrive
        if troubles != remembered.troubles:
            remembered.troubles = troubles
            self._again.send(key)

    def _place(self, pod: NodePod, situation: Situation, troubles: dict[str, Trouble]) -> Place:
        uid = pod.metadata.uid
        ended = [run for run in situation.runs if run.is_over]
        return Place(
            host_address=self._bench.facts.host_address,
            pod_address=self._bench.address(uid) or pod.status.pod_ip,
            troubles=troubles,
            killed_for_memory=self._bench.killed_for_memory(uid, ended),
            messages={run.id: text for run in ended if (text := self._bench.termination_message(pod, run))},
            conditions={**judge_versions(pod, self._bench.facts.images), **self._isolation()},
        )

    def _isolation(self) -> Mapping[str, tuple[str, str, str]]:
        because = self._bench.facts.plain_because
        return plain_pods.build_condition(because) if because else {}

    def _due(self, pod: NodePod, status: JsonObject, remembered: _Remembered) -> WriteStatus | None:
        if remembered.reported == status:
            return None
        remembered.reported = status
        metadata = pod.metadata
        ref = Ref(POD.api_version, POD.kind, metadata.namespace, metadata.name)
        return WriteStatus(ref, metadata.uid, metadata.resource_version, status, "what runs has changed")

    def _stages(self, pod: NodePod, decision: Decision) -> Iterable[Stage]:
        effects = tuple(self._effect(pod, step) for step in decision.steps)
        if effects:
            yield Stage("steps", effects)
        if any(isinstance(step, Release) for step in decision.steps):
            metadata = pod.metadata
            ref = Ref(POD.api_version, POD.kind, metadata.namespace, metadata.name)
            yield Stage("forget", (Delete(ref, metadata.uid, "nothing of it is left", grace_seconds=0),), ("steps",))

    def _effect(self, pod: NodePod, step: Step) -> Effect:
        payload = {"order": StepOrder(pod, step)}
        key = f"{pod.metadata.uid} {step}"
        is_repeated = isinstance(step, Stop) and self._attendance.is_stopping(step.id)
        report = build_report(step, is_repeated=is_repeated)
        return Effect(STEP, payload, key, because=type(step).__name__, report=report)


def _has_just_ended(pod: NodePod, status: JsonObject) -> bool:
    return pod.metadata.is_terminating and status["phase"] in ENDED and pod.status.phase not in ENDED


def step_order(effect: Effect) -> StepOrder:
    order: Any = effect.payload["order"]
    if not isinstance(order, StepOrder):
        raise TypeError(f"{effect.kind} carries {type(order).__name__}")
    return order
