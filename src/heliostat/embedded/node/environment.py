"""The environment of a container: literal values, references, and ``$(NAME)`` in values, commands and arguments.

Pure: what ConfigMaps and Secrets hold is handed in. A reference that leads nowhere is a ``MissingReferenceError`` in
the kubelet's words, unless it is optional.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from heliostat.embedded.node.pods import Container, NodePod
from heliostat.kube.quantity import Quantity

_ESCAPED_OR_NAMED = re.compile(r"\$\$|\$\(([^)\s]+)\)")
_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_ONE = Quantity.parse(1)


class MissingReferenceError(Exception):
    """Something that the Pod refers to is not there; the text names it."""


class References(Struct, frozen=True):
    """What the Pod refers to, as far as it exists: texts by key, by name."""

    config_maps: Mapping[str, Mapping[str, str]] = {}
    secrets: Mapping[str, Mapping[str, str]] = {}


class Surroundings(Struct, frozen=True, kw_only=True):
    """What only the node knows about a Pod."""

    host_address: str
    pod_address: str
    node_allocatable: Mapping[str, str] = {}  # stands for limits that are not set
    service_variables: Mapping[str, str] = {}


def build_environment(
    pod: NodePod, container: Container, references: References, around: Surroundings
) -> dict[str, str]:
    """In the kubelet's order: services, envFrom, env; the later one wins, and ``$(NAME)`` sees the earlier ones."""
    built = dict(around.service_variables) if pod.spec.enable_service_links else _own_service(around)
    for source in container.env_from:
        built |= _from_source(source, references)
    for entry in container.env:
        name = entry["name"]
        if "valueFrom" in entry:
            value = _from_reference(entry["valueFrom"], pod, container, references, around)
            if value is not None:
                built[name] = value
        else:
            built[name] = expand(entry.get("value") or "", built)
    return built


def _own_service(around: Surroundings) -> dict[str, str]:
    return {name: value for name, value in around.service_variables.items() if name.startswith("KUBERNETES_")}


def expand(text: str, known: Mapping[str, str]) -> str:
    """``$(NAME)`` becomes its value, ``$$`` a dollar; an unknown name stays as it is written."""

    def replace(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return "$"
        return known.get(name, match.group(0))

    return _ESCAPED_OR_NAMED.sub(replace, text)


def build_command(container: Container, entry: tuple[str, ...], environment: Mapping[str, str]) -> tuple[str, ...]:
    """``entry`` is what the image runs when the Pod names nothing."""
    command = [expand(word, environment) for word in container.command]
    arguments = [expand(word, environment) for word in container.args]
    if not command and not arguments:
        return entry
    return (*(command or entry), *arguments)


def _from_source(source: dict[str, Any], references: References) -> dict[str, str]:
    prefix = source.get("prefix") or ""
    for field, kind, objects in (
        ("configMapRef", "configmap", references.config_maps),
        ("secretRef", "secret", references.secrets),
    ):
        reference = source.get(field)
        if reference is None:
            continue
        found = objects.get(reference["name"])
        if found is None:
            if reference.get("optional"):
                return {}
            raise MissingReferenceError(f'{kind} "{reference["name"]}" not found')
        return {prefix + key: value for key, value in found.items() if _NAME.fullmatch(prefix + key)}
    return {}


def _from_reference(
    source: dict[str, Any], pod: NodePod, container: Container, references: References, around: Surroundings
) -> str | None:
    if "fieldRef" in source:
        return read_field(source["fieldRef"]["fieldPath"], pod, around)
    if "resourceFieldRef" in source:
        return read_resource(source["resourceFieldRef"], pod, container, around)
    for field, kind, objects in (
        ("configMapKeyRef", "configmap", references.config_maps),
        ("secretKeyRef", "secret", references.secrets),
    ):
        if field in source:
            return _read_key(source[field], kind, objects, pod.metadata.namespace)
    return None


def _read_key(
    reference: dict[str, Any], kind: str, objects: Mapping[str, Mapping[str, str]], namespace: str
) -> str | None:
    name, key = reference["name"], reference["key"]
    found = objects.get(name)
    if found is not None and key in found:
        return found[key]
    if reference.get("optional"):
        return None
    if found is None:
        raise MissingReferenceError(f'{kind} "{name}" not found')
    title = "ConfigMap" if kind == "configmap" else "Secret"
    raise MissingReferenceError(f"couldn't find key {key} in {title} {namespace}/{name}")


_KEYED_FIELD = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]")


def read_field(path: str, pod: NodePod, around: Surroundings) -> str:
    """What the downward API shows of a Pod."""
    metadata = pod.metadata
    plain = {
        "metadata.name": metadata.name,
        "metadata.namespace": metadata.namespace,
        "metadata.uid": metadata.uid,
        "spec.nodeName": pod.spec.node_name,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.hostIP": around.host_address,
        "status.hostIPs": around.host_address,
        "status.podIP": around.pod_address,
        "status.podIPs": around.pod_address,
    }
    if path in plain:
        return plain[path]
    keyed = _KEYED_FIELD.fullmatch(path)
    if keyed is not None:
        texts = metadata.labels if keyed.group(1) == "labels" else metadata.annotations
        return texts.get(keyed.group(2), "")
    if path in ("metadata.labels", "metadata.annotations"):
        texts = metadata.labels if path.endswith("labels") else metadata.annotations
        return "\n".join(f'{key}="{_quoted(text)}"' for key, text in sorted(texts.items()))
    raise MissingReferenceError(f"the downward API has no field {path}")


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def read_resource(reference: dict[str, Any], pod: NodePod, container: Container, around: Surroundings) -> str:
    """A limit or request in units of the divisor, rounded up; a limit that is not set is all that the node has."""
    named = reference.get("containerName")
    chosen = pod.container(named) if named else container
    kind, _, resource = reference["resource"].partition(".")
    resources = chosen.resources
    amount: str | int | None = (resources.limits if kind == "limits" else resources.requests).get(resource)
    if amount is None and kind == "limits":
        amount = around.node_allocatable.get(resource)
    divisor = Quantity.parse(reference.get("divisor") or "1")
    whole = Quantity.parse(amount if amount is not None else "0")
    return str(-(-whole.nano // (divisor.nano or _ONE.nano)))
