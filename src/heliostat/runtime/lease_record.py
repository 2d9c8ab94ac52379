"""What a Lease says, and what to write into it. Everything in it that is not ours stays as it was.

Times are written for people and other programs; they are never compared with a clock here.
"""

import math
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_micro_timestamp

_RELEASED_SECONDS = 1  # as client-go leaves it: even a reader who takes it for held soon finds it expired


class Record(Struct, frozen=True, rename="camel"):
    """The content whose change is a sign of life."""

    holder: str | None = msgspec.field(default=None, name="holderIdentity")
    lease_seconds: int | None = msgspec.field(default=None, name="leaseDurationSeconds")
    acquire_time: str | None = None
    renew_time: str | None = None
    transitions: int | None = msgspec.field(default=None, name="leaseTransitions")


def decode_lease(body: bytes) -> JsonObject:
    tree: JsonObject = msgspec.json.decode(body, type=dict[str, Any])
    read_record(tree)  # an answer that makes no sense is found here, as a decoding error
    return tree


def read_record(tree: JsonObject) -> Record:
    return msgspec.convert(tree.get("spec") or {}, Record)


def build_held(
    before: JsonObject | None, namespace: str, name: str, identity: str, seconds: float, epoch: float
) -> JsonObject:
    """The lease in our hand: taken when somebody else, or nobody, had it, renewed when we did."""
    record = read_record(before) if before is not None else None
    now = format_micro_timestamp(epoch)
    is_renewal = record is not None and record.holder == identity
    spec: JsonObject = {
        "holderIdentity": identity,
        "leaseDurationSeconds": math.ceil(seconds),
        "acquireTime": record.acquire_time if record is not None and is_renewal else now,
        "renewTime": now,
        "leaseTransitions": _transitions(record, is_renewal=is_renewal),
    }
    if before is None:
        return _with_spec({"metadata": {"namespace": namespace, "name": name}}, spec)
    return _with_spec(before, spec)


def build_released(before: JsonObject, epoch: float) -> JsonObject:
    now = format_micro_timestamp(epoch)
    return _with_spec(
        before,
        {"holderIdentity": "", "leaseDurationSeconds": _RELEASED_SECONDS, "acquireTime": now, "renewTime": now},
    )


def _transitions(record: Record | None, *, is_renewal: bool) -> int:
    if record is None:
        return 0
    return (record.transitions or 0) + (not is_renewal)


def _with_spec(before: JsonObject, spec: JsonObject) -> JsonObject:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        **before,
        "spec": {**(before.get("spec") or {}), **spec},
    }
