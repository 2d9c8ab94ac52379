"""A world in memory in which plans are carried out, to see where they lead: ``render`` shows what is made in it.

``carry_out`` does what an API server would: it gives UIDs and versions, fills in what a Service gets, checks that
deletes and patches name what is there, and merges patches. ``settle`` does what nodes, cert-manager and gateways would:
Pods run, certificates are issued, Gateways are programmed, what is deleted goes. Nothing here decides anything. Calls
to Ray are not answered.
"""

import hashlib
from typing import TypeAlias

from msgspec import Struct, structs

from heliostat.api.markers import JsonObject
from heliostat.kube.jsontree import copy_tree, merge_patch
from heliostat.kube.plan import Action, Create, Delete, Patch, Plan, Ref, Replace, WriteStatus, ref_of
from heliostat.kube.timestamps import format_timestamp

Place: TypeAlias = tuple[str, str, str, str]  # group, kind, namespace, name

NODE = "node"
_VALIDITY = 90 * 86400.0  # seconds, of a certificate
_GRACE = 30.0


class ImaginationError(AssertionError):
    """A plan that no API server would carry out: it names what is not there."""


class ImaginedWorld(Struct, frozen=True):
    """``version`` is the last resourceVersion given out; ``now`` is epoch seconds.

    ``age`` is how many seconds ago an object counts as created: one that ends while young is not replaced at once.
    """

    objects: dict[Place, JsonObject] = {}
    version: int = 1000
    now: float = 0.0
    age: float = 60.0

    def trees(self) -> tuple[JsonObject, ...]:
        return tuple(self.objects.values())

    def find(self, ref: Ref) -> JsonObject | None:
        return self.objects.get(_place(ref))

    def hold(self, *trees: JsonObject) -> "ImaginedWorld":
        """These objects are there, as they stand."""
        return structs.replace(self, objects={**self.objects, **{_place(ref_of(tree)): tree for tree in trees}})

    def create(self, *trees: JsonObject) -> "ImaginedWorld":
        """What is there already stays."""
        objects, version = dict(self.objects), self.version
        for tree in trees:
            place = _place(ref_of(tree))
            if place not in objects:
                version += 1
                objects[place] = _stored(tree, version, self.now - self.age)
        return structs.replace(self, objects=objects, version=version)

    def carry_out(self, plan: Plan, *, grace: bool = False) -> "ImaginedWorld":
        """Every action in order. With ``grace`` a deleted Pod stays, terminating; otherwise it is gone at once."""
        world, creates = self, list[JsonObject]()
        for action in plan.actions():
            if isinstance(action, Create):
                creates.append(action.object)
                continue
            world, creates = world.create(*creates).change(action, grace=grace), []
        return world.create(*creates)

    def change(self, action: Action, *, grace: bool = False) -> "ImaginedWorld":
        match action:
            case Create():
                return self.create(action.object)
            case Delete():
                return self._delete(action, grace=grace)
            case Patch():
                return self._change(action.ref, action.uid, action.resource_version, action.changes)
            case WriteStatus():
                return self._write_status(action)
            case Replace():
                raise ImaginationError(f"nothing replaces a {action.ref.kind} here")
            case _:
                return self  # a call to Ray is not answered

    def _delete(self, action: Delete, *, grace: bool) -> "ImaginedWorld":
        live = self._named(action.ref, action.uid)
        if not grace and not live["metadata"].get("finalizers"):
            return self._without(action.ref)
        leaving = {"metadata": {"deletionTimestamp": format_timestamp(self.now + _GRACE)}}
        return self._put(merge_patch(live, leaving))

    def _change(self, ref: Ref, uid: str, version: str, changes: JsonObject) -> "ImaginedWorld":
        live = self._named(ref, uid, version)
        patched: JsonObject = merge_patch(live, changes)
        metadata = patched["metadata"]
        if "spec" in changes:
            metadata["generation"] = live["metadata"].get("generation", 1) + 1
        is_released = live["metadata"].get("finalizers") and not metadata.get("finalizers")
        return self._without(ref) if metadata.get("deletionTimestamp") and is_released else self._put(patched)

    def _write_status(self, action: WriteStatus) -> "ImaginedWorld":
        live = self._named(action.ref, action.uid, action.resource_version)
        return self._put({**live, "status": action.status})

    def _named(self, ref: Ref, uid: str, version: str = "") -> JsonObject:
        live = self.find(ref)
        if live is None or live["metadata"].get("uid") != uid:
            raise ImaginationError(f"{ref} with uid {uid} is not there")
        if version and live["metadata"].get("resourceVersion") != version:
            raise ImaginationError(f"{ref} is not at version {version}")
        return live

    def _put(self, tree: JsonObject) -> "ImaginedWorld":
        version = self.version + 1
        kept = {**tree, "metadata": {**tree["metadata"], "resourceVersion": str(version)}}
        return structs.replace(self, objects={**self.objects, _place(ref_of(tree)): kept}, version=version)

    def _without(self, ref: Ref) -> "ImaginedWorld":
        place = _place(ref)
        return structs.replace(self, objects={key: tree for key, tree in self.objects.items() if key != place})

    def settle(self) -> "ImaginedWorld":
        """Nodes and cert-manager have done their work."""
        objects: dict[Place, JsonObject] = {}
        version = self.version
        for place, tree in self.objects.items():
            if tree["metadata"].get("deletionTimestamp") and tree["apiVersion"] != "ray.io/v1":
                continue
            settled = _settled(tree, self.now)
            if settled is not tree:
                version += 1
                settled = {**settled, "metadata": {**settled["metadata"], "resourceVersion": str(version)}}
            objects[place] = settled
        return _issue_secrets(structs.replace(self, objects=objects, version=version))


def _place(ref: Ref) -> Place:
    return ref.api_version.split("/")[0], ref.kind, ref.namespace, ref.name


def invent_uid(namespace: str, name: str) -> str:
    """A UID for an object that was never created, always the same for the same name."""
    digest = hashlib.sha256(f"{namespace}/{name}".encode()).hexdigest()
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))


def _stored(tree: JsonObject, version: int, created: float) -> JsonObject:
    tree = copy_tree(tree)
    metadata = tree["metadata"]
    is_ours = tree["apiVersion"].startswith("ray.io/")  # its UID shows in what belongs to it
    uid = invent_uid(metadata.get("namespace", ""), metadata["name"]) if is_ours else f"uid-{version}"
    given = {"namespace": "", "uid": uid, "generation": 1, "creationTimestamp": format_timestamp(created)}
    tree["metadata"] = {**given, **tree["metadata"], "resourceVersion": str(version)}
    if tree["kind"] == "Service":
        tree["spec"] = _default_service(tree["spec"], version)
    return tree


def _default_service(spec: JsonObject, number: int) -> JsonObject:
    ports = [{"targetPort": port["port"], "protocol": "TCP", **port} for port in spec.get("ports", [])]
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        ports = [{"nodePort": 30000 + index, **port} for index, port in enumerate(ports)]
    return {"clusterIP": f"10.96.0.{number % 250}", "type": "ClusterIP", **spec, "ports": ports}


def _settled(tree: JsonObject, now: float) -> JsonObject:
    if tree["kind"] == "Pod" and not tree.get("status"):
        return {**tree, **running(tree)}
    if tree["kind"] == "Certificate" and not _is_issued(tree):
        ready = {"type": "Ready", "status": "True", "observedGeneration": tree["metadata"]["generation"]}
        return {**tree, "status": {"conditions": [ready], "notAfter": format_timestamp(now + _VALIDITY)}}
    if tree["kind"] == "Gateway" and not _is_served(tree):
        served = [{"type": type_, "status": "True"} for type_ in ("Accepted", "Programmed")]
        return {**tree, "status": {"conditions": served}}
    return tree


def _is_served(gateway: JsonObject) -> bool:
    return bool((gateway.get("status") or {}).get("conditions"))


def _is_issued(certificate: JsonObject) -> bool:
    conditions = (certificate.get("status") or {}).get("conditions") or []
    return any(one.get("observedGeneration") == certificate["metadata"]["generation"] for one in conditions)


def running(pod: JsonObject) -> JsonObject:
    """Spec and status of this Pod when it runs and is ready."""
    uid = pod["metadata"]["uid"]
    number = int(uid.removeprefix("uid-")) if uid.startswith("uid-") else 7
    statuses = [{"name": each["name"], "ready": True, "state": {"running": {}}} for each in pod["spec"]["containers"]]
    return {
        "spec": {**pod["spec"], "nodeName": NODE},
        "status": {
            "phase": "Running",
            "podIP": f"10.0.{number // 250}.{number % 250}",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": statuses,
        },
    }


def _issue_secrets(world: ImaginedWorld) -> ImaginedWorld:
    issued = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": tree["spec"]["secretName"], "namespace": tree["metadata"]["namespace"]},
            "data": dict.fromkeys(("tls.crt", "tls.key", "ca.crt"), "eA=="),
        }
        for tree in world.trees()
        if tree["kind"] == "Certificate"
    ]
    return world.create(*issued) if issued else world
