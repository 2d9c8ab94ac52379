"""Pods: whether a new one is acceptable, and what may change of one that is there.

An update may change images, the deadline (only down), tolerations (only more) and scheduling gates (only fewer); its
status may say anything that does not contradict what it said for good.
"""

from collections.abc import Iterator

from heliostat.embedded.kinds.object_metadata import annotation_causes
from heliostat.embedded.kinds.pods.pod_spec_validation import pod_spec_causes
from heliostat.embedded.kinds.pods.scheduling_validation import toleration_causes
from heliostat.embedded.kinds.rules.address_rules import ip_causes, read_ip
from heliostat.embedded.kinds.rules.causes import Inner, changed, each_invalid, forbidden, inner, invalid, required
from heliostat.embedded.kinds.rules.label_rules import label_causes
from heliostat.embedded.kinds.rules.name_rules import dns1123_subdomain_problems, label_key_problems
from heliostat.embedded.kinds.workloads.spec_difference import describe_difference
from heliostat.embedded.refusals import Cause
from heliostat.kube.counts import read_whole
from heliostat.kube.jsontree import JsonObject

_MAY_CHANGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_LARGEST_INT = 2147483647
_SYSTEM_CONDITIONS = frozenset({"PodScheduled", "Ready", "Initialized"})
MIRROR = "kubernetes.io/config.mirror"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def new_pod_causes(pod: JsonObject) -> Iterator[Cause]:
    yield from _pod_causes(pod)
    spec = pod["spec"]
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def _pod_causes(pod: JsonObject) -> Iterator[Cause]:
    spec, metadata = pod["spec"], pod["metadata"]
    yield from _annotation_causes(metadata.get("annotations") or {}, spec, "metadata.annotations")
    yield from pod_spec_causes(spec, "spec", pod_name=metadata.get("name", ""), is_pod=True)
    if not spec.get("serviceAccountName"):
        yield from _token_causes(spec)
    for part in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(part) or ()):
            image = container.get("image", "")
            if image != image.strip():
                why = "must not have leading or trailing whitespace"
                yield invalid(f"spec.{part}[{index}].image", image, why)


def _annotation_causes(annotations: JsonObject, spec: JsonObject, path: str) -> Iterator[Cause]:
    if MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{MIRROR}]", annotations[MIRROR], why)
    cost = annotations.get(DELETION_COST)
    if cost is not None and not _is_int32(cost):
        yield invalid(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer")


def _is_int32(text: str) -> bool:
    """Without a plus and without zeros in front."""
    digits = text.removeprefix("-")
    number = read_whole(text) if digits == "0" or digits[:1] not in ("0", "+", "-") else None
    return number is not None and -(2**31) <= number < 2**31


def _token_causes(spec: JsonObject) -> Iterator[Cause]:
    for index, volume in enumerate(spec.get("volumes") or ()):
        for position, part in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if "serviceAccountToken" in part:
                at = f"spec.volumes[{index}].projected.sources[{position}].serviceAccountToken"
                yield forbidden(at, "must not be specified when serviceAccountName is not set")


def template_causes(template: JsonObject, path: str) -> Iterator[Cause]:
    """A Pod template inside another kind."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    yield from label_causes(metadata.get("labels"), f"{path}.labels")
    yield from annotation_causes(metadata.get("annotations"), f"{path}.annotations")
    yield from _annotation_causes(metadata.get("annotations") or {}, spec, f"{path}.annotations")
    yield from pod_spec_causes(spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        yield forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def changed_pod_causes(pod: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from _pod_causes(pod)
    spec, before = pod["spec"], old["spec"]
    for part in ("containers", "initContainers"):
        if len(spec.get(part) or ()) != len(before.get(part) or ()):
            yield forbidden(f"spec.{part}", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(spec.get(part) or ()):
            if not container.get("image"):
                yield required(f"spec.{part}[{index}].image")
    deadline = list(_deadline_causes(spec, before))
    yield from deadline
    if deadline and "activeDeadlineSeconds" in spec:
        return
    yield from _fewer_tolerations(spec, before)
    yield from _more_gates(spec, before)
    if spec == before:
        return
    allowed = _with_changes_allowed(spec, before)
    if allowed != before:
        yield forbidden("spec", f"{_MAY_CHANGE}\n{describe_difference(before, allowed)}")


def _deadline_causes(spec: JsonObject, before: JsonObject) -> Iterator[Cause]:
    path = "spec.activeDeadlineSeconds"
    deadline, former = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if deadline is None:
        if former is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= deadline <= _LARGEST_INT:
        yield invalid(path, deadline, f"must be between 0 and {_LARGEST_INT}, inclusive")
    elif former is not None and former < deadline:
        yield invalid(path, deadline, "must be less than or equal to previous value")


def _fewer_tolerations(spec: JsonObject, before: JsonObject) -> Iterator[Cause]:
    now = [_without_seconds(toleration) for toleration in spec.get("tolerations") or ()]
    if any(_without_seconds(toleration) not in now for toleration in before.get("tolerations") or ()):
        why = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", why)
    else:
        yield from toleration_causes(spec.get("tolerations") or [], "spec.tolerations")


def _without_seconds(toleration: JsonObject) -> JsonObject:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _more_gates(spec: JsonObject, before: JsonObject) -> Iterator[Cause]:
    known = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        if gate.get("name") not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", why)


_FREE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")


def _with_changes_allowed(spec: JsonObject, before: JsonObject) -> JsonObject:
    """The new spec with everything that may change put back to what it was."""
    free = (*_FREE, "nodeSelector") if before.get("schedulingGates") else _FREE
    allowed = {key: value for key, value in spec.items() if key not in free}
    allowed |= {key: before[key] for key in free if key in before}
    for part in ("containers", "initContainers"):
        if part in spec:
            allowed[part] = [
                {**container, "image": former.get("image", "")}
                for container, former in zip(spec[part], before[part], strict=True)
            ]
    if before.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        allowed["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    return allowed


def pod_status_causes(pod: JsonObject, old: JsonObject) -> Iterator[Cause]:
    status, before = pod.get("status") or {}, old.get("status") or {}
    for index, condition in enumerate(status.get("conditions") or ()):
        kind = condition.get("type", "")
        yield from _generation_causes(condition, f"status.conditions[{index}]")
        if kind not in _SYSTEM_CONDITIONS:
            yield from each_invalid(f"status.conditions[{index}].Type", kind, label_key_problems(kind))
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != before.get("nominatedNodeName"):
        yield from each_invalid("status.nominatedNodeName", nominated, dns1123_subdomain_problems(nominated))
    yield from _generation_causes(status, "status")
    yield from changed("status.qosClass", status.get("qosClass"), before.get("qosClass"))
    policy = old["spec"].get("restartPolicy")
    if policy != "Always":
        yield from _revived_containers(status, before, "containerStatuses", policy)
    yield from _address_causes(status, before, "podIPs")
    if status.get("hostIPs"):
        first = status["hostIPs"][0].get("ip", "")
        if first != status.get("hostIP", ""):
            yield invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`")
        yield from _address_causes(status, before, "hostIPs")


def _generation_causes(tree: JsonObject, path: str) -> Iterator[Cause]:
    if tree.get("observedGeneration", 0) < 0:
        yield invalid(f"{path}.observedGeneration", tree["observedGeneration"], "must be a non-negative integer")


def _address_causes(status: JsonObject, before: JsonObject, name: str) -> Iterator[Cause]:
    """New addresses can be read, and there is at most one of each family."""
    addresses = [entry.get("ip", "") for entry in status.get(name) or ()]
    known = {entry.get("ip", "") for entry in before.get(name) or ()}
    for index, text in enumerate(addresses):
        if text not in known:
            yield from ip_causes(f"status.{name}[{index}]", text)
    families = sorted(address.version for address in map(read_ip, addresses) if address is not None)
    if len(addresses) > 1 and families != [4, 6]:
        shown = Inner("[" + ",".join(inner(IP=text) for text in addresses) + "]")
        yield invalid(f"status.{name}", shown, "may specify no more than one IP for each IP family")


def _revived_containers(status: JsonObject, before: JsonObject, part: str, policy: str) -> Iterator[Cause]:
    """What has ended stays ended, unless the Pod restarts what failed."""
    ended = {entry.get("name"): (entry.get("state") or {}).get("terminated") for entry in before.get(part) or ()}
    for index, entry in enumerate(status.get(part) or ()):
        last = ended.get(entry.get("name"))
        if last is None or (entry.get("state") or {}).get("terminated") is not None:
            continue
        if last.get("exitCode", 0) != 0 and policy == "OnFailure":
            continue
        yield forbidden(f"status.{part}[{index}].state", "may not be transitioned to non-terminated state")


def ephemeral_container_causes(pod: JsonObject, old: JsonObject) -> Iterator[Cause]:
    yield from _pod_causes(pod)
    now = {container.get("name"): container for container in pod["spec"].get("ephemeralContainers") or ()}
    for former in old["spec"].get("ephemeralContainers") or ():
        name = former.get("name", "")
        if name not in now:
            why = f'existing ephemeral containers "{name}" may not be removed\n'
            yield forbidden("spec.ephemeralContainers", why)
        elif now[name] != former:
            difference = describe_difference(former, now[name])
            why = f'existing ephemeral containers "{name}" may not be changed\n{difference}'
            yield forbidden("spec.ephemeralContainers", why)


def binding_causes(binding: JsonObject) -> Iterator[Cause]:
    target = binding.get("target") or {}
    if target.get("kind") not in (None, "", "Node"):
        yield Cause(
            "FieldValueNotSupported",
            f'Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"',
            "target.kind",
        )
    if not target.get("name"):
        yield required("target.name")
