"""Which address families a Service has, in a cluster that has only IPv4.

A headless Service without a selector may name both, because its addresses come from whoever writes its endpoints.
"""

from collections.abc import Iterator

from heliostat.embedded.kinds.network.service_defaults import EXTERNAL_NAME, HEADLESS
from heliostat.embedded.kinds.rules.causes import invalid
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_BOTH = ["IPv4", "IPv6"]
_ONLY = "IPv4"


def fill_families(spec: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Policy and families, in place; what the cluster cannot give, as causes."""
    if spec.get("type") == EXTERNAL_NAME:
        return []
    is_open = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        before = (old or {}).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = before or ("RequireDualStack" if is_open else "SingleStack")
    if is_open:
        families = spec.get("ipFamilies") or [_ONLY]
        if len(families) < 2 and spec["ipFamilyPolicy"] != "SingleStack":
            families = _BOTH if families[0] == _ONLY else _BOTH[::-1]
        spec["ipFamilies"] = list(families)
        return []
    for index, address in enumerate(spec.get("clusterIPs") or ()):
        if address != HEADLESS and ":" in address and index >= len(spec.get("ipFamilies") or ()):
            why = "IPv6 is not configured on this cluster"
            return [invalid(f"spec.clusterIPs[{index}]", spec["clusterIPs"], why)]
    causes = list(_impossible(spec))
    if not causes and not spec.get("ipFamilies"):
        spec["ipFamilies"] = [_ONLY]
    return causes


def _impossible(spec: JsonObject) -> Iterator[Cause]:
    policy, families = spec["ipFamilyPolicy"], spec.get("ipFamilies") or []
    if policy == "SingleStack":
        many = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
        if len(spec.get("clusterIPs") or ()) == 2:
            yield invalid("spec.ipFamilyPolicy", policy, f"{many} cluster IPs are specified")
        if len(families) == 2:
            yield invalid("spec.ipFamilyPolicy", policy, f"{many} IP families are specified")
    if policy == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        yield invalid("spec.ipFamilyPolicy", policy, why)
    for index, family in enumerate(families):
        if family != _ONLY:
            yield invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
