"""The addresses of a Service: the old and the new field agree, families fit, and what was given out stays."""

from collections.abc import Iterator

from heliostat.embedded.kinds.network.service_defaults import EXTERNAL_NAME, HEADLESS, is_headless
from heliostat.embedded.kinds.rules.address_rules import ip_causes, read_ip
from heliostat.embedded.kinds.rules.causes import duplicate, invalid, not_supported, required
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

FAMILIES = ("IPv4", "IPv6")
POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_FIXED = "may not change once set"


def address_causes(spec: JsonObject) -> Iterator[Cause]:
    single, plural = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    if single and not plural:
        yield required("spec.clusterIPs")
    elif single and plural[0] != single:
        yield invalid("spec.clusterIPs", plural, "first value must match `clusterIP`")
    elif not single and plural:
        yield invalid("spec.clusterIPs", plural, "must be empty when `clusterIP` is not specified")
    yield from _family_causes(spec)
    wrong = list(_wrong_addresses(plural))
    yield from wrong
    if len(plural) > 2:
        yield invalid("spec.clusterIPs", plural, "may only hold up to 2 values")
    if wrong:
        return
    if len(plural) > 1 and len({_family_of(address) for address in plural}) != 2:
        yield invalid("spec.clusterIPs", plural, "may specify no more than one IP for each IP family")
    if not is_headless(spec):
        for index, (address, family) in enumerate(zip(plural, spec.get("ipFamilies") or (), strict=False)):
            if family in FAMILIES and _family_of(address) != family:
                why = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
                yield invalid(f"spec.clusterIPs[{index}]", address, why)


def _family_causes(spec: JsonObject) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in FAMILIES:
            yield not_supported(f"spec.ipFamilies[{index}]", family, FAMILIES)
        if family in seen:
            yield duplicate(f"spec.ipFamilies[{index}]", family)
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in POLICIES:
        yield not_supported("spec.ipFamilyPolicy", policy, POLICIES)


def _wrong_addresses(addresses: list[str]) -> Iterator[Cause]:
    for index, address in enumerate(addresses):
        if index == 0 and address == HEADLESS:
            if len(addresses) > 1:
                yield invalid("spec.clusterIPs", addresses, "'None' must be the first and only value")
        else:
            yield from ip_causes(f"spec.clusterIPs[{index}]", address)


def _family_of(text: str) -> str:
    address = read_ip(text)
    return "IPv6" if address is not None and address.version == 6 else "IPv4"


def kept_address_causes(spec: JsonObject, before: JsonObject) -> Iterator[Cause]:
    if EXTERNAL_NAME in (spec.get("type"), before.get("type")):
        return
    if not (is_headless(spec) and is_headless(before)):
        yield from _kept_list_causes(spec, before)
    if is_headless(spec) == is_headless(before) and not is_headless(spec):
        now, former = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
        for family, kept in zip(now, former, strict=False):
            if family != kept:
                yield invalid("spec.ipFamilies[0]", now, _FIXED)


def _kept_list_causes(spec: JsonObject, before: JsonObject) -> Iterator[Cause]:
    now, former = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if len(now) == len(former):
        for index, (address, kept) in enumerate(zip(now, former, strict=True)):
            if address != kept:
                yield invalid(f"spec.clusterIPs[{index}]", now, _FIXED)
    elif not now:
        yield invalid("spec.clusterIPs[0]", now, "primary clusterIP can not be unset")
    elif former and now[0] != former[0]:
        yield invalid("spec.clusterIPs[0]", now, _FIXED)
