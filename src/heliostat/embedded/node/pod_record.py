"""Who a Pod was, written down while it lives, for the time when only its logs are left.

    record.json     replaced whole

What became of it, and when, is the history of its object: the server's, not the node's.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from heliostat.embedded.node.pods import NodePod

RECORD = "record.json"


class PodRecord(Struct, frozen=True, rename="camel"):
    namespace: str
    name: str
    uid: str
    labels: dict[str, str] = {}
    containers: tuple[str, ...] = ()  # the main ones first


def build_record(pod: NodePod) -> PodRecord:
    metadata, spec = pod.metadata, pod.spec
    names = tuple(container.name for container in (*spec.containers, *spec.init_containers))
    return PodRecord(metadata.namespace, metadata.name, metadata.uid, metadata.labels, names)


def write_record(place: Path, record: PodRecord) -> None:
    """Into the Pod's directory."""
    fresh = place / f"{RECORD}.new"
    fresh.write_bytes(msgspec.json.encode(record))
    fresh.replace(place / RECORD)


def read_record(place: Path) -> PodRecord | None:
    """None: nothing was written, or it cannot be read."""
    try:
        return msgspec.json.decode((place / RECORD).read_bytes(), type=PodRecord)
    except (OSError, msgspec.MsgspecError):
        return None
