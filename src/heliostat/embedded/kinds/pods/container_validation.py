"""One container: its name and image, ports, variables, mounts, resources and rights."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from heliostat.embedded.kinds.pods.environment_validation import environment_causes
from heliostat.embedded.kinds.pods.security_validation import container_security_causes
from heliostat.embedded.kinds.rules.causes import (
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from heliostat.embedded.kinds.rules.name_rules import dns1123_label_problems
from heliostat.embedded.kinds.rules.resource_rules import requirement_causes
from heliostat.embedded.kinds.rules.text_rules import descending_path_problems, port_name_problems, port_number_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

PROTOCOLS = ("SCTP", "TCP", "UDP")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


class PodFacts(Struct, frozen=True):
    """What a container's rules have to know of the Pod around it."""

    volumes: dict[str, JsonObject]
    claims: frozenset[str]
    grace: int
    restart_policy: str
    uses_host_users: bool


def container_causes(container: JsonObject, facts: PodFacts, path: str) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield required(f"{path}.name")
    else:
        yield from each_invalid(f"{path}.name", name, dns1123_label_problems(name))
    if not container.get("image"):
        yield required(f"{path}.image")
    policy = container.get("terminationMessagePolicy")
    if policy not in ("File", "FallbackToLogsOnError"):
        yield not_supported(f"{path}.terminationMessagePolicy", policy, ("File", "FallbackToLogsOnError"))
    if "ports" in container:
        yield from _port_causes(container["ports"], f"{path}.ports")
    yield from environment_causes(container, path)
    yield from _mount_causes(container, facts.volumes, f"{path}.volumeMounts")
    if "volumeDevices" in container:
        yield from _device_causes(container, facts.volumes, f"{path}.volumeDevices")
    if container.get("imagePullPolicy") not in PULL_POLICIES:
        yield not_supported(f"{path}.imagePullPolicy", container.get("imagePullPolicy", ""), PULL_POLICIES)
    if resources := container.get("resources"):
        yield from requirement_causes(resources, facts.claims, f"{path}.resources")
    if "resizePolicy" in container:
        yield from _resize_causes(container["resizePolicy"], facts.restart_policy, f"{path}.resizePolicy")
    if security := container.get("securityContext"):
        yield from container_security_causes(security, f"{path}.securityContext", facts.uses_host_users)


def _port_causes(ports: list[JsonObject], path: str) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"{path}[{index}]", port.get("name", "")
        if name:
            if problems := port_name_problems(name):
                yield from each_invalid(f"{at}.name", name, problems)
            elif name in names:
                yield duplicate(f"{at}.name", name)
            names.add(name)
        number = port.get("containerPort", 0)
        if not number:
            yield required(f"{at}.containerPort")
        else:
            yield from each_invalid(f"{at}.containerPort", number, port_number_problems(number))
        if port.get("hostPort"):
            yield from each_invalid(f"{at}.hostPort", port["hostPort"], port_number_problems(port["hostPort"]))
        if port.get("protocol") not in PROTOCOLS:
            yield not_supported(f"{at}.protocol", port.get("protocol", ""), PROTOCOLS)


def host_port_causes(containers: list[JsonObject], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in seen:
                yield duplicate(f"{path}[{index}].ports[{position}].hostPort", key)
            seen.add(key)


def _mount_causes(container: JsonObject, volumes: dict[str, JsonObject], path: str) -> Iterator[Cause]:
    devices = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices") or ()}
    points: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        at, name, point = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{at}.name")
        if name not in volumes:
            yield not_found(f"{at}.name", name)
        if not point:
            yield required(f"{at}.mountPath")
        if point in points:
            yield invalid(f"{at}.mountPath", point, "must be unique")
        points.add(point)
        if name in devices:
            yield invalid(f"{at}.name", name, "must not already exist in volumeDevices")
        if point in devices.values():
            yield invalid(f"{at}.mountPath", point, "must not already exist as a path in volumeDevices")
        if mount.keys() - {"name", "mountPath", "readOnly"}:
            yield from _rare_mount_causes(mount, container, at, path)


def _rare_mount_causes(mount: JsonObject, container: JsonObject, at: str, path: str) -> Iterator[Cause]:
    sub, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    if sub:
        yield from each_invalid(f"{path}.subPath", sub, descending_path_problems(sub))
    if expression:
        if sub:
            yield invalid(f"{at}.subPathExpr", expression, "subPathExpr and subPath are mutually exclusive")
        yield from each_invalid(f"{path}.subPathExpr", expression, descending_path_problems(expression))
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        if propagation not in _PROPAGATIONS:
            yield not_supported(f"{path}.mountPropagation", propagation, _PROPAGATIONS)
        if propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
            why = "Bidirectional mount propagation is available only to privileged containers"
            yield forbidden(f"{path}.mountPropagation", why)
    yield from _recursive_causes(mount, f"{path}.recursiveReadOnly")


def _recursive_causes(mount: JsonObject, path: str) -> Iterator[Cause]:
    recursive = mount.get("recursiveReadOnly")
    if recursive in (None, "Disabled"):
        return
    if recursive not in _RECURSIVE:
        yield not_supported(path, recursive, _RECURSIVE)
        return
    if not mount.get("readOnly"):
        yield forbidden(path, "may only be specified when readOnly is true")
    if mount.get("mountPropagation", "None") != "None":
        yield forbidden(path, "may only be specified when mountPropagation is None or not specified")


def _device_causes(container: JsonObject, volumes: dict[str, JsonObject], path: str) -> Iterator[Cause]:
    mounts = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts") or ()}
    paths: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
        at, name, point = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")
        if not name:
            yield required(f"{at}.name")
        if not point:
            yield required(f"{at}.devicePath")
        if point in paths:
            yield invalid(f"{at}.devicePath", point, "must be unique")
        if point and ".." in point.split("/"):
            yield invalid(f"{at}.devicePath", point, "can not contain backsteps ('..')")
        paths.add(point)
        if name not in volumes:
            yield not_found(f"{at}.name", name)
        elif not volumes[name].keys() & {"persistentVolumeClaim", "ephemeral"}:
            why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(f"{at}.name", name, why)
        if name in mounts:
            yield invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if point in mounts.values():
            yield invalid(f"{at}.devicePath", point, "must not already exist as a path in volumeMounts")


def _resize_causes(policies: list[JsonObject], restart_policy: str, path: str) -> Iterator[Cause]:
    seen: set[Any] = set()
    for index, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            yield duplicate(f"{path}[{index}]", resource)
        seen.add(resource)
        for value, choices in ((resource, ("cpu", "memory")), (restart, ("NotRequired", "RestartContainer"))):
            if not value:
                yield required(path)
            elif value not in choices:
                yield not_supported(path, value, choices)
        if restart_policy == "Never" and restart != "NotRequired":
            yield invalid(path, restart, "must be 'NotRequired' when `restartPolicy` is 'Never'")
