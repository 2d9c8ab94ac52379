"""Jobs and Pods in a small world with the API server's rules: versions, UIDs, finalizers, and its rules for a status.

A ``Process`` is one run of the controllers with its own views, which may lag behind the world; it dies between any two
writes. The world remembers what became of every Pod, so that what is counted can be compared with what happened.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from heliostat.embedded.controllers.jobs.reconciler import JobReconciler, OrphanedPodReconciler
from heliostat.embedded.controllers.views.jobs import JOBS, Job
from heliostat.embedded.controllers.views.pods import PODS, Pod
from heliostat.embedded.kinds.status_validation import job_status_causes
from heliostat.kube.jsontree import JsonObject, copy_tree, merge_patch
from heliostat.kube.objects import Key
from heliostat.kube.plan import Action, Create, Delete, Event, Patch, Plan, Replace, Stage, WriteStatus
from heliostat.kube.timestamps import format_timestamp
from heliostat.runtime.cache import CacheWriter
from heliostat.runtime.caches import Caches

START = 1_700_000_000.0
KEY = Key("ns", "work")
TRACKING = "batch.kubernetes.io/job-tracking"


class RefusedError(Exception):
    """The server said no."""


class CrashError(Exception):
    """The process died here."""


def job_tree(**spec: Any) -> JsonObject:
    """As the API server keeps it, with its defaults."""
    spec.setdefault("template", {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}})
    spec["template"].setdefault("metadata", {"labels": {"job": "work"}})
    defaults = {"parallelism": 1, "completionMode": "NonIndexed", "backoffLimit": 6, "suspend": False}
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": KEY.name, "namespace": KEY.namespace, "uid": "job-uid"},
        "spec": {"selector": {"matchLabels": {"job": "work"}}, **defaults, **spec},
        "status": {},
    }


class World:
    def __init__(self, job: JsonObject) -> None:
        self.now = START
        self.version = 0
        self.trees: dict[tuple[str, str], JsonObject] = {}
        self.changes: list[tuple[int, str, str, JsonObject | None]] = []
        self.names: set[str] = set()
        self.ended: dict[str, str] = {}  # Pod UID: how it ended while it was tracked
        self.events: list[Event] = []
        self._keep("Job", job)

    @property
    def job(self) -> JsonObject:
        return self.trees["Job", KEY.name]

    @property
    def status(self) -> JsonObject:
        status: JsonObject = self.job["status"]
        return status

    @property
    def pods(self) -> list[JsonObject]:
        return [tree for (kind, _name), tree in sorted(self.trees.items()) if kind == "Pod"]

    @property
    def active(self) -> list[JsonObject]:
        return [pod for pod in self.pods if not is_over(pod) and "deletionTimestamp" not in pod["metadata"]]

    def conditions(self) -> dict[str, str]:
        return {found["type"]: found["status"] for found in self.status.get("conditions", ())}

    # What users and nodes do.

    def edit_job(self, **spec: Any) -> None:
        self._keep("Job", merge_patch(self.job, {"spec": spec}))

    def run(self, pod: JsonObject) -> None:
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": format_timestamp(self.now)}
        self.change_pod(pod, spec={"nodeName": "n"}, status={"phase": "Running", "conditions": [ready]})

    def end(self, pod: JsonObject, phase: str, exit_code: int = 1) -> None:
        code = 0 if phase == "Succeeded" else exit_code
        state = {"terminated": {"exitCode": code, "finishedAt": format_timestamp(self.now)}}
        self._note_end(pod, phase)
        statuses = [{"name": "c", "state": state}]
        self.change_pod(pod, status={"phase": phase, "conditions": [], "containerStatuses": statuses})

    def change_pod(self, pod: JsonObject, **changes: Any) -> None:
        self._keep("Pod", merge_patch(self.trees["Pod", pod["metadata"]["name"]], changes))

    def delete_pod(self, pod: JsonObject) -> None:
        metadata = pod["metadata"]
        if "deletionTimestamp" not in metadata:
            self._note_end(pod, "Either")  # it may count as failed before it ends, or as what it ends with
            self.change_pod(pod, metadata={"deletionTimestamp": format_timestamp(self.now)})

    def _note_end(self, pod: JsonObject, how: str) -> None:
        metadata = self.trees["Pod", pod["metadata"]["name"]]["metadata"]
        if TRACKING in metadata.get("finalizers", ()):
            self.ended.setdefault(metadata["uid"], how)

    def bury(self) -> None:
        """Nodes stop what was asked to go; what is over and has no finalizer is gone."""
        for pod in self.pods:
            if "deletionTimestamp" not in pod["metadata"]:
                continue
            if not is_over(pod):
                self.end(pod, "Failed")
            name = pod["metadata"]["name"]
            if not self.trees["Pod", name]["metadata"].get("finalizers"):
                self._drop("Pod", name)

    # What the server does.

    def carry_out(self, action: Action) -> None:
        match action:
            case Create():
                self._create(action.object)
            case Patch():
                tree = self._find(action.ref.kind, action.ref.name, action.uid, action.resource_version)
                if action.changes:
                    self._keep(action.ref.kind, merge_patch(tree, action.changes))
            case Delete():
                self.delete_pod(self._find("Pod", action.ref.name, action.uid, action.resource_version))
            case WriteStatus():
                self._write_status(action)
            case _:
                raise AssertionError(f"unexpected {action}")

    def _create(self, tree: JsonObject) -> None:
        name = tree["metadata"]["name"]
        assert name not in self.names, f"{name} is used twice"
        self.names.add(name)
        stamped = {"uid": f"uid-{name}", "creationTimestamp": format_timestamp(self.now)}
        self._keep("Pod", {**tree, "metadata": {**tree["metadata"], **stamped}, "status": {"phase": "Pending"}})

    def _write_status(self, action: WriteStatus) -> None:
        old = self._find("Job", action.ref.name, action.uid, action.resource_version)
        job = {**old, "status": action.status}
        causes = list(job_status_causes(job, old))
        assert not causes, causes
        self._keep("Job", job)

    def _find(self, kind: str, name: str, uid: str, version: str) -> JsonObject:
        tree = self.trees.get((kind, name))
        if tree is None or tree["metadata"]["uid"] != uid:
            raise RefusedError(f"{kind} {name} is not there")
        if version and tree["metadata"]["resourceVersion"] != version:
            raise RefusedError(f"{kind} {name} has changed")
        return tree

    def _keep(self, kind: str, tree: JsonObject) -> None:
        self.version += 1
        tree = copy_tree(tree)
        tree["metadata"]["resourceVersion"] = str(self.version)
        name = tree["metadata"]["name"]
        self.trees[kind, name] = tree
        self.changes.append((self.version, kind, name, tree))

    def _drop(self, kind: str, name: str) -> None:
        self.version += 1
        del self.trees[kind, name]
        self.changes.append((self.version, kind, name, None))


def is_over(pod: JsonObject) -> bool:
    return pod["status"].get("phase") in ("Succeeded", "Failed")


class Process:
    """One run of the controllers. ``pods_seen`` is how far its first list of Pods is."""

    def __init__(self, world: World, pods_seen: int | None = None) -> None:
        self.world = world
        caches = Caches()
        self._jobs, self._pods = CacheWriter(caches.of(JOBS)), CacheWriter(caches.of(PODS))
        self._seen = {"Job": 0, "Pod": 0}
        self._written = 0
        self.jobs = JobReconciler(caches)
        self.orphans = OrphanedPodReconciler(caches)
        self._pod_cache = caches.of(PODS)
        self.see("Job", world.version)
        self.see("Pod", world.version if pods_seen is None else pods_seen)
        self.bookmark()

    def bookmark(self) -> None:
        """The views hear how far they are; without it they only know the last change that they saw."""
        self._jobs.progress(self._seen["Job"])
        self._pods.progress(self._seen["Pod"])

    def see(self, kind: str, upto: int) -> None:
        for version, changed, name, tree in self.world.changes:
            if changed == kind and self._seen[kind] < version <= upto:
                self._show(kind, name, version, tree)
        self._seen[kind] = max(self._seen[kind], upto)

    def _show(self, kind: str, name: str, version: int, tree: JsonObject | None) -> None:
        if tree is None:
            gone = self._pod_cache.get(Key(KEY.namespace, name))
            if gone is not None:
                metadata = msgspec.structs.replace(gone.metadata, resource_version=str(version))
                self._pods.remove(msgspec.structs.replace(gone, metadata=metadata))
        elif kind == "Job":
            self._jobs.put(msgspec.convert(tree, Job))
        else:
            self._pods.put(msgspec.convert(tree, Pod))

    def plan(self) -> Plan:
        """From a view that has seen at least what this process wrote."""
        for kind in ("Job", "Pod"):
            self.see(kind, self._written)
        assert self.jobs.subject(KEY) is not None
        return self.jobs.plan(KEY, self.world.now)

    def look(self, crash_after: int | None = None) -> Plan:
        """One reconcile with the newest view; it dies after so many writes."""
        self.see("Job", self.world.version)
        self.see("Pod", self.world.version)
        plan = self.plan()
        self.carry_out(plan, crash_after)
        return plan

    def carry_out(self, plan: Plan, crash_after: int | None = None) -> None:
        self.world.events.extend(plan.events)
        writes, failed = 0, set[str]()
        for stage in plan.stages:
            if failed.intersection(stage.needs):
                failed.add(stage.name)
                continue
            for action in stage.actions:
                if crash_after is not None and writes >= crash_after:
                    raise CrashError
                writes += 1
                if not self._try(action):
                    failed.add(stage.name)

    def _try(self, action: Action) -> bool:
        try:
            self.world.carry_out(action)
        except RefusedError:
            return False
        self._written = self.world.version
        if isinstance(action, Create | Delete | Patch | Replace) and action.report.success is not None:
            self.world.events.append(action.report.success)
        return True


def settle(process: Process, limit: int = 60) -> None:
    """Looks, and lets time and nodes go on, until nothing changes."""
    quiet = 0
    for _ in range(limit):
        before = process.world.version
        plan = process.look()
        process.world.bury()
        quiet = quiet + 1 if before == process.world.version and plan.is_empty else 0
        if quiet == 2:
            return
        if quiet:
            process.bookmark()
    raise AssertionError(f"not settled: {process.world.status}")


def drive(process: Process, outcome: Callable[[JsonObject], str], limit: int = 200) -> None:
    """Runs the Job to its end: every Pod ends as ``outcome`` says, and time passes."""
    world = process.world
    for _ in range(limit):
        settle(process)
        if {"Complete", "Failed"} & set(world.conditions()):
            return
        for pod in world.active:
            world.end(pod, outcome(pod))
        world.now += 700
    raise AssertionError(f"no end: {world.status}")


def stages(plan: Plan) -> dict[str, Stage]:
    return {stage.name: stage for stage in plan.stages}
