"""This machine as a node: what it runs with, how Pods are isolated, their network."""

from heliostat.embedded.node.isolating.isolation import (
    Isolation,
    NoIsolationError,
    decide_isolation,
    enter,
    judge,
    observe_trials,
)
from heliostat.embedded.node.isolating.plain_pods import CONDITION
from heliostat.embedded.node.network import outbound
from heliostat.embedded.node.network.shared import observe_host_address
from heliostat.embedded.node.network.wiring import Networks
from heliostat.embedded.node.node_facts import NodeFacts
from heliostat.embedded.node.program import LocalNode, LocalNodeOptions, dns_address_of

__all__ = [
    "CONDITION",
    "Isolation",
    "LocalNode",
    "LocalNodeOptions",
    "Networks",
    "NoIsolationError",
    "NodeFacts",
    "decide_isolation",
    "dns_address_of",
    "enter",
    "judge",
    "observe_host_address",
    "observe_trials",
    "outbound",
]
