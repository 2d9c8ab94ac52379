"""Simulated machines: what they are made of, and the Node object each registers as.

A machine is plain data; ``build_machines`` makes as many as asked for, alike, with a Pod range and an address each.
"""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import TypeAlias

import msgspec
from msgspec import Struct

from heliostat.embedded.controllers.views.nodes import NodeCondition, Taint
from heliostat.embedded.networks import POD_NETWORK
from heliostat.kube.plan import JsonObject

_NODE_NETWORK = "10.0.0.0/16"
_PODS_PER_NODE_PREFIX = 24
_FIRST_NODE_OFFSET = 10
DEFAULT_CAPACITY: Mapping[str, str] = {"cpu": "32", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110"}


class TooManyMachinesError(ValueError):
    """More nodes than the Pod network has ranges for."""


Judgement: TypeAlias = tuple[str, str, str]  # status, reason and message of a condition


class Machine(Struct, frozen=True):
    name: str
    pod_network: str
    address: str
    capacity: Mapping[str, str]
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    info: Mapping[str, str] = {}  # what it runs, for the Node's nodeInfo, where it is more than a simulation
    conditions: Mapping[str, Judgement] = {}  # further ones, by type


def build_machines(
    count: int,
    capacity: Mapping[str, str] = DEFAULT_CAPACITY,
    labels: Mapping[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
    prefix: str = "node",
    pod_network: str = str(POD_NETWORK),
) -> tuple[Machine, ...]:
    """``node-0``, ``node-1``, … with a /24 of the Pod network each."""
    whole = IPv4Network(pod_network)
    spare = _PODS_PER_NODE_PREFIX - whole.prefixlen
    if spare < 0 or count > 2**spare:
        raise TooManyMachinesError(f"{pod_network} has no {count} ranges of /24; give a larger network")
    step = 2 ** (32 - _PODS_PER_NODE_PREFIX)
    hosts = IPv4Network(_NODE_NETWORK)
    return tuple(
        Machine(
            name=f"{prefix}-{index}",
            pod_network=f"{whole[index * step]}/{_PODS_PER_NODE_PREFIX}",
            address=str(hosts[_FIRST_NODE_OFFSET + index]),
            capacity=capacity,
            labels=labels or {},
            taints=taints,
        )
        for index in range(count)
    )


def build_node(machine: Machine, now: str) -> JsonObject:
    spec: JsonObject = {"podCIDR": machine.pod_network, "podCIDRs": [machine.pod_network]}
    if machine.taints:
        spec["taints"] = [msgspec.to_builtins(taint) for taint in machine.taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": machine.name, "labels": build_labels(machine)},
        "spec": spec,
        "status": build_node_status(machine, now),
    }


def build_labels(machine: Machine) -> dict[str, str]:
    architecture = build_info(machine)["architecture"]
    own = {"kubernetes.io/hostname": machine.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": architecture}
    old = {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": architecture}
    return {**old, **own, **machine.labels}


def build_info(machine: Machine) -> dict[str, str]:
    return {**_NODE_INFO, **dict.fromkeys(("machineID", "systemUUID", "bootID"), machine.name), **machine.info}


def build_node_status(machine: Machine, now: str) -> JsonObject:
    return {
        "capacity": dict(machine.capacity),
        "allocatable": dict(machine.capacity),
        "addresses": [
            {"type": "InternalIP", "address": machine.address},
            {"type": "Hostname", "address": machine.name},
        ],
        "conditions": [msgspec.to_builtins(condition) for condition in build_conditions(now, machine)],
        "nodeInfo": build_info(machine),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
    }


_NODE_INFO: Mapping[str, str] = {
    "architecture": "amd64",
    "operatingSystem": "linux",
    "osImage": "simulated",
    "kernelVersion": "simulated",
    "containerRuntimeVersion": "simulated://1",
    "kubeletVersion": "v1.34.4",
    "kubeProxyVersion": "",
}

_HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def build_conditions(now: str, machine: Machine) -> tuple[NodeCondition, ...]:
    own = ((type_, *judgement) for type_, judgement in machine.conditions.items())
    return tuple(
        NodeCondition(type_, status, reason, message, last_heartbeat_time=now, last_transition_time=now)
        for type_, status, reason, message in (*own, *_HEALTHY)
    )
