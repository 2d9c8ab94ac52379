"""What the rules of a schema cost: microseconds per RayCluster and per rule.

The yardstick, measured in the same run, is the same condition written as a plain Python function, which no interpreter
of rules can beat. The bar is the share of a RayCluster's creation that rules may take.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from heliostat.api.crds import build_crd
from heliostat.embedded.cel import CompiledRules, check_rules, compile_rules
from heliostat.kube.documents import read_documents
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.problems import Problem

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "raycluster-autoscaler.yaml"
BAR_MICROSECONDS = 300.0
MANAGERS = ("ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue")
PORTS = [{"name": f"port-{number}", "port": 8000 + number} for number in range(8)]

# Title, rule, schema of its value, a value, and the same condition in Python.
RULES: list[tuple[str, str, JsonObject, Any, Callable[[Any], bool]]] = [
    ("equal to a constant", "self == 'a'", {"type": "string"}, "a", lambda value: value == "a"),
    ("one of two", "self in ['a', 'b']", {"type": "string"}, "a", lambda value: value in ("a", "b")),
    (
        "either of two fields",
        "has(self.x) || has(self.y)",
        {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "string"}}},
        {"y": "1"},
        lambda value: value.get("x") is not None or value.get("y") is not None,
    ),
    (
        "every port in range",
        "self.all(p, p.port > 0 && p.port < 65536)",
        {"type": "array", "items": {"type": "object", "properties": {"port": {"type": "integer"}}}},
        PORTS,
        lambda value: all(0 < item["port"] < 65536 for item in value),
    ),
    (
        "names are unique",
        "self.all(a, self.exists_one(b, a.name == b.name))",
        {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        PORTS,
        lambda value: all(sum(a["name"] == b["name"] for b in value) == 1 for a in value),
    ),
]


def microseconds(run: Callable[[], object]) -> float:
    """The best of five rounds, because the machine is noisy."""
    best = float("inf")
    for _ in range(5):
        calls, start = 0, perf_counter()
        while (elapsed := perf_counter() - start) < 0.1:
            run()
            calls += 1
        best = min(best, elapsed / calls)
    return best * 1e6


def ray_cluster_rules() -> CompiledRules:
    versions = build_crd("RayCluster")["spec"]["versions"]
    schema = next(version["schema"]["openAPIV3Schema"] for version in versions if version["name"] == "v1")
    start = perf_counter()
    rules = compile_rules(schema)
    print(f"compile the rules of the RayCluster schema   {(perf_counter() - start) * 1e3:>8.1f} ms")
    return rules


def plain_check(new: JsonObject, old: JsonObject | None) -> list[str]:
    """The three rules of a RayCluster by hand."""
    found = []
    spec, before = new["spec"], (old or {}).get("spec", {})
    manager = spec.get("managedBy")
    if manager is not None:
        if manager not in MANAGERS:
            found.append("managedBy")
        if before.get("managedBy") not in (None, manager):
            found.append("managedBy")
    backend = spec.get("gcsFaultToleranceOptions", {}).get("backend")
    if backend is not None and before.get("gcsFaultToleranceOptions", {}).get("backend") not in (None, backend):
        found.append("backend")
    return found


def run_check(rules: CompiledRules, new: JsonObject, old: JsonObject | None = None) -> list[Problem]:
    return list(check_rules(rules, new, old))


def measure_cluster(title: str, rules: CompiledRules, cluster: JsonObject, old: JsonObject | None) -> bool:
    """Prints a line; True when rules take more than their share."""
    cost = microseconds(partial(run_check, rules, cluster, old))
    plain = microseconds(partial(plain_check, cluster, old))
    print(f"{title:<44} {cost:>8.2f} µs  {cost / plain:>5.1f}x plain Python  (bar {BAR_MICROSECONDS:.0f} µs)")
    return cost > BAR_MICROSECONDS


def measure_rule(title: str, text: str, schema: JsonObject, value: Any, predicate: Callable[[Any], bool]) -> None:
    spec = {**schema, "x-kubernetes-validations": [{"rule": text}]}
    rules = compile_rules({"type": "object", "properties": {"spec": spec}})
    assert run_check(rules, {"spec": value}) == []
    assert predicate(value)
    cost = microseconds(partial(run_check, rules, {"spec": value}))
    plain = microseconds(partial(predicate, value))
    print(f"{title:<44} {cost:>8.2f} µs  {cost / plain:>5.1f}x plain Python")


def main() -> int:
    rules = ray_cluster_rules()
    cluster = read_documents(EXAMPLE.read_bytes(), EXAMPLE.name)[0].tree
    cluster["spec"] |= {"managedBy": MANAGERS[0], "gcsFaultToleranceOptions": {"backend": "redis"}}
    is_slow = measure_cluster("create a RayCluster", rules, cluster, None)
    is_slow |= measure_cluster("update a RayCluster", rules, cluster, cluster)
    for row in RULES:
        measure_rule(*row)
    return 1 if is_slow else 0


if __name__ == "__main__":
    sys.exit(main())
