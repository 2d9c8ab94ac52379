"""Binding a Pod to a node: once, and only while it is to stay and nothing holds its scheduling back."""

import msgspec

from heliostat.embedded.kinds.pods.pod_validation import binding_causes
from heliostat.embedded.refusals import RefusedError, bad_request, conflict
from heliostat.embedded.server.changes.writes import Writer
from heliostat.embedded.server.changes.writing import WriteOptions
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.server.resources import Resource
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp


class PodBindings:
    def __init__(self, writer: Writer, authority: Authority, pods: Resource) -> None:
        self._writer = writer
        self._authority = authority
        self._pods = pods

    async def bind(self, binding: JsonObject, namespace: str, name: str, options: WriteOptions) -> None:
        metadata = binding.get("metadata") or {}
        if metadata.get("name") != name:
            raise bad_request("name in URL does not match name in Binding object")
        causes = list(binding_causes(binding))
        if causes:
            texts = [f"{cause.field}: {cause.message}" for cause in causes]
            raise RefusedError(500, "", texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        node = binding["target"]["name"]

        def change(pod: JsonObject) -> JsonObject:
            _check_bindable(pod, metadata)
            return _bound(pod, node, metadata, format_timestamp(self._authority.now()))

        options = msgspec.structs.replace(options, subresource="binding")
        await self._writer.change(self._pods, namespace, name, change, options)


def _check_bindable(pod: JsonObject, binding: JsonObject) -> None:
    metadata, name = pod["metadata"], pod["metadata"]["name"]
    for field, shown in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted = binding.get(field)
        if wanted and wanted != metadata[field]:
            why = f"Precondition failed: {shown} in precondition: {wanted}, {shown} in object meta: {metadata[field]}"
            raise conflict("pods", "", name, why)
    problem = ""
    if "deletionTimestamp" in metadata:
        problem = f"pod {name} is being deleted, cannot be assigned to a host"
    elif pod["spec"].get("nodeName"):
        problem = f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    elif pod["spec"].get("schedulingGates"):
        problem = f"pod {name} has non-empty .spec.schedulingGates"
    if problem:
        raise conflict("pods/binding", "", name, problem)


def _bound(pod: JsonObject, node: str, binding: JsonObject, now: str) -> JsonObject:
    metadata = dict(pod["metadata"])
    for field in ("annotations", "labels"):
        if binding.get(field):
            metadata[field] = {**(metadata.get(field) or {}), **binding[field]}
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    placed = {**pod, "metadata": metadata, "spec": {**pod["spec"], "nodeName": node}}
    return with_condition(placed, condition)


def with_condition(pod: JsonObject, condition: JsonObject) -> JsonObject:
    status = pod.get("status") or {}
    conditions = list(status.get("conditions") or [])
    at = next((i for i, each in enumerate(conditions) if each["type"] == condition["type"]), len(conditions))
    if at < len(conditions) and conditions[at].get("status") == condition["status"]:
        condition = {**condition, "lastTransitionTime": conditions[at].get("lastTransitionTime")}
    conditions[at : at + 1] = [condition]
    return {**pod, "status": {**status, "conditions": conditions}}
