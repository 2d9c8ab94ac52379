"""The spec and the metadata of a Pod or of a template, in kube-apiserver's order.

``path`` is where the template stands; of a Pod itself it is empty.
"""

from collections.abc import Iterable, Iterator

from heliostat.embedded.kinds.cautions.addresses import address_cautions, each_address
from heliostat.embedded.kinds.cautions.amounts import fraction_cautions
from heliostat.embedded.kinds.cautions.node_labels import key_cautions, label_cautions, node_affinity_cautions
from heliostat.embedded.kinds.cautions.ports import port_cautions
from heliostat.embedded.kinds.cautions.volumes import volume_cautions
from heliostat.kube.go_text import go_quote
from heliostat.kube.jsontree import JsonObject

_BYTES = ("memory", "ephemeral-storage")
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def pod_cautions(tree: JsonObject, path: str = "") -> Iterator[str]:
    spec, annotations = tree.get("spec") or {}, (tree.get("metadata") or {}).get("annotations") or {}
    dot = f"{path}." if path else ""
    inside, notes = f"{dot}spec", f"{dot}metadata.annotations"
    containers = list(_containers(spec, inside))
    yield from _placing_cautions(spec, inside)
    yield from (f"{notes}[{key}]: {why}" for key, why in _OLD_ANNOTATIONS.items() if key in annotations)
    yield from volume_cautions(spec.get("volumes") or [], f"{inside}.volumes")
    yield from _name_cautions(spec, inside)
    yield from fraction_cautions(spec.get("overhead"), _BYTES, f"{inside}.overhead")
    if _SECCOMP_OF_POD in annotations and "seccompProfile" not in (spec.get("securityContext") or {}):
        yield f"{notes}[{_SECCOMP_OF_POD}]: {_SECCOMP}"
    for container, at in containers:
        yield from _profile_cautions(container, spec, annotations, notes, is_template=bool(path))
        yield from _amount_cautions(container, at)
        yield from _environment_cautions(container.get("env") or [], f"{at}.env")
    yield from port_cautions((container.get("ports") or [], f"{at}.ports") for container, at in containers)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        at = f"{inside}.terminationGracePeriodSeconds"
        yield f"{at}: must be >= 0; negative values are invalid and will be treated as 1"
    yield from _company_cautions(spec.get("affinity") or {}, f"{inside}.affinity")
    yield from each_address(f"{inside}.dnsConfig.nameservers", (spec.get("dnsConfig") or {}).get("nameservers") or ())
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from address_cautions(f"{inside}.hostAliases[{index}].ip", alias.get("ip", ""))


def _containers(spec: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    for part in _CONTAINERS:
        for index, container in enumerate(spec.get(part) or ()):
            yield container, f"{path}.{part}[{index}]"


def _placing_cautions(spec: JsonObject, path: str) -> Iterator[str]:
    yield from label_cautions(f"{path}.nodeSelector", spec.get("nodeSelector") or ())
    yield from node_affinity_cautions((spec.get("affinity") or {}).get("nodeAffinity"), f"{path}.affinity.nodeAffinity")
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        at = f"{path}.topologySpreadConstraints[{index}]"
        yield from key_cautions(f"{at}.topologyKey", constraint.get("topologyKey", ""))
        if constraint.get("labelSelector") is None:
            yield f"{at}.labelSelector: {_NO_SELECTOR}"


def _name_cautions(spec: JsonObject, path: str) -> Iterator[str]:
    aliases = [alias.get("ip", "") for alias in spec.get("hostAliases") or ()]
    secrets = [secret.get("name", "") for secret in spec.get("imagePullSecrets") or ()]
    yield from (f"{path}.hostAliases[{index}].ip: duplicate ip {go_quote(ip)}" for index, ip in _repeated(aliases))
    at = f"{path}.imagePullSecrets"
    yield from (f"{at}[{index}].name: duplicate name {go_quote(name)}" for index, name in _repeated(secrets))
    yield from (f'{at}[{index}].name: invalid empty name ""' for index, name in enumerate(secrets) if not name)


def _repeated(values: Iterable[str]) -> Iterator[tuple[int, str]]:
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield index, value
        seen.add(value)


def _profile_cautions(
    container: JsonObject, spec: JsonObject, annotations: JsonObject, notes: str, *, is_template: bool
) -> Iterator[str]:
    """Annotations that fields have taken the place of; of a Pod, AppArmor's is still read."""
    own, name = container.get("securityContext") or {}, container.get("name", "")
    if f"{_SECCOMP_OF_CONTAINER}{name}" in annotations and "seccompProfile" not in own:
        yield f"{notes}[{_SECCOMP_OF_CONTAINER}{name}]: {_SECCOMP}"
    profile = annotations.get(f"{_APP_ARMOR}{name}")
    if is_template and profile is not None and "appArmorProfile" not in own:
        shared = (spec.get("securityContext") or {}).get("appArmorProfile")
        if shared is None or shared != _app_armor_field(profile):
            yield f'{notes}[{_APP_ARMOR}{name}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def _app_armor_field(text: str) -> JsonObject | None:
    """The field that says what the annotation says."""
    profile = text.removeprefix("localhost/")
    if profile and profile != text:
        return {"type": "Localhost", "localhostProfile": profile}
    kind = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}.get(text)
    return {"type": kind} if kind else None


def _amount_cautions(container: JsonObject, path: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for name in _BYTES:
        for part in ("limits", "requests"):
            yield from fraction_cautions(resources.get(part), (name,), f"{path}.resources.{part}")


def _environment_cautions(variables: list[JsonObject], path: str) -> Iterator[str]:
    """A variable that is set again is meant when it builds on the value before."""
    for index, name in _repeated(variable.get("name", "") for variable in variables):
        variable, reference = variables[index], f"$({name})"
        value = variable.get("value", "")
        if "valueFrom" in variable or value == reference or reference not in value:
            hidden = f"hides previous definition of {go_quote(name)}, which may be dropped when using apply"
            yield f"{path}[{index}]: {hidden}"


def _company_cautions(affinity: JsonObject, path: str) -> Iterator[str]:
    for side in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(side) or {}
        at = f"{path}.{side}.requiredDuringSchedulingIgnoredDuringExecution"
        for index, term in enumerate(terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()):
            if term.get("labelSelector") is None:
                yield f"{at}[{index}].labelSelector: {_NO_SELECTOR}"
        at = f"{path}.{side}.preferredDuringSchedulingIgnoredDuringExecution"
        for index, term in enumerate(terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
            if (term.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{at}[{index}].podAffinityTerm.labelSelector: {_NO_SELECTOR}"
