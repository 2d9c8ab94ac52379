"""Security contexts of Pods and containers: ids in range, profiles that can be found, rights that do not contradict."""

import re
from collections.abc import Iterator

from heliostat.embedded.kinds.rules.causes import duplicate, each_invalid, invalid, not_supported, required
from heliostat.embedded.kinds.rules.text_rules import descending_path_problems, id_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_CHANGE_POLICIES = ("Always", "OnRootMismatch")
_GROUP_POLICIES = ("Merge", "Strict")
_SYSCTL = re.compile(r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$")
_LONGEST_SYSCTL = 253
_NETWORK, _MESSAGES = ("net.",), ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")  # namespaces of sysctls


def container_security_causes(security: JsonObject, path: str, uses_host_users: bool) -> Iterator[Cause]:
    for name in ("runAsUser", "runAsGroup"):
        yield from _id_causes(security.get(name), f"{path}.{name}")
    mount = security.get("procMount")
    if mount is not None:
        if mount not in ("Default", "Unmasked"):
            yield not_supported(f"{path}.procMount", mount, ("Default", "Unmasked"))
        if mount == "Unmasked" and uses_host_users:
            yield invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    yield from _seccomp_causes(security.get("seccompProfile"), f"{path}.seccompProfile")
    if security.get("allowPrivilegeEscalation") is False:
        if security.get("privileged"):
            why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield invalid(path, security, why)
        if "CAP_SYS_ADMIN" in ((security.get("capabilities") or {}).get("add") or ()):
            why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield invalid(path, security, why)
    yield from _app_armor_causes(security.get("appArmorProfile"), f"{path}.appArmorProfile")


def pod_security_causes(spec: JsonObject, path: str) -> Iterator[Cause]:
    security = spec.get("securityContext") or {}
    at = f"{path}.securityContext"
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from _id_causes(security.get(name), f"{at}.{name}")
    for index, group in enumerate(security.get("supplementalGroups") or ()):
        yield from _id_causes(group, f"{at}.supplementalGroups[{index}]")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{at}.shareProcessNamespace", True, why)
    if not security:
        return
    yield from _sysctl_causes(spec, security.get("sysctls") or [], f"{at}.sysctls")
    for name, choices in (("fsGroupChangePolicy", _CHANGE_POLICIES), ("supplementalGroupsPolicy", _GROUP_POLICIES)):
        if security.get(name, choices[0]) not in choices:
            yield not_supported(f"{at}.{name}", security[name], choices)
    yield from _seccomp_causes(security.get("seccompProfile"), f"{at}.seccompProfile")
    yield from _app_armor_causes(security.get("appArmorProfile"), f"{at}.appArmorProfile")


def _id_causes(number: int | None, path: str) -> list[Cause]:
    return each_invalid(path, number, id_problems(number)) if number is not None else []


def _sysctl_causes(spec: JsonObject, sysctls: list[JsonObject], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name, at = sysctl.get("name", ""), f"{path}[{index}].name"
        if not name:
            yield required(at)
        elif len(name) > _LONGEST_SYSCTL or _SYSCTL.fullmatch(name) is None:
            yield invalid(at, name, f"must have at most {_LONGEST_SYSCTL} characters and match regex {_SYSCTL.pattern}")
        elif name in seen:
            yield duplicate(at, name)
        yield from _shared_sysctl_causes(spec, name, at)
        seen.add(name)


def _shared_sysctl_causes(spec: JsonObject, name: str, path: str) -> Iterator[Cause]:
    """What the Pod shares with its host is not the Pod's to set."""
    plain = name.replace("/", ".")
    if spec.get("hostNetwork") and plain.startswith(_NETWORK):
        yield invalid(path, name, "may not be specified when 'hostNetwork' is true")
    elif spec.get("hostIPC") and plain.startswith(_MESSAGES):
        yield invalid(path, name, "may not be specified when 'hostIPC' is true")


def _seccomp_causes(profile: JsonObject | None, path: str) -> Iterator[Cause]:
    if profile is None:
        return
    kind = profile.get("type", "")
    if not kind:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        yield not_supported(f"{path}.type", kind, _PROFILES)
    local = profile.get("localhostProfile")
    if kind == "Localhost":
        if local is None:
            yield required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
        else:
            yield from each_invalid(f"{path}.localhostProfile", local, descending_path_problems(local))
    elif local is not None:
        yield invalid(f"{path}.localhostProfile", profile, "can only be set when seccomp type is Localhost")


def _app_armor_causes(profile: JsonObject | None, path: str) -> Iterator[Cause]:
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        yield required(f"{path}.type", "type is required when appArmorProfile is set")
    elif kind not in _PROFILES:
        yield not_supported(f"{path}.type", kind, _PROFILES)
    elif kind != "Localhost":
        if local is not None:
            yield invalid(f"{path}.localhostProfile", local, "can only be set when AppArmor type is Localhost")
    elif not local:
        yield required(f"{path}.localhostProfile", "must be set when AppArmor type is Localhost")
    elif local != local.strip():
        yield invalid(f"{path}.localhostProfile", local, "must not be padded with whitespace")
