"""Pods as a RayCluster makes them, after the server's defaults and the report of their node: about 6 kB each.

Rules: the Pod comes from an example through the real handlers, so it grows with the project; those made from it
differ as Pods of many clusters do: a hundred of a cluster share its names, and everything else is their own.
"""

import asyncio
import random
import uuid
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from heliostat.api.settings import Settings
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.controllers.nodes.stages import ADMIT, MAKE_READY
from heliostat.embedded.controllers.nodes.statuses import Host, build_status
from heliostat.embedded.controllers.nodes.steps import Step
from heliostat.embedded.controllers.views.pods import Pod
from heliostat.embedded.in_process import InProcessTransport
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store
from heliostat.kube.documents import read_documents
from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.kube.timestamps import format_timestamp
from heliostat.plan.render import render_documents
from heliostat.runtime.transport import JSON, MERGE_PATCH, Call

ROOT = Path(__file__).resolve().parents[2]
PODS = "/api/v1/namespaces/default/pods"
CLUSTER = "hello"  # what the example is called
PODS_PER_CLUSTER = 100
NODES = 200
_NODE, _HOST, _ADDRESS = "a-node-to-replace", "10.255.0.1", "10.255.0.2"
_MADE, _BEGUN, _READY = 1_800_000_000.0, 1_800_000_001.0, 1_800_000_004.0
_SECONDS_BETWEEN = 7  # so no two Pods were made at the same time
_POSITION = b'"ray.io/worker-group-replica-index":"%d"'


def build_worker() -> JsonObject:
    """As the operator creates it."""
    documents = read_documents((ROOT / "examples" / "raycluster.yaml").read_bytes())
    objects = render_documents(documents, "default", Settings()).objects
    return next(tree for tree in objects if tree["metadata"]["labels"]["ray.io/node-type"] == "worker")


class PodTemplate(Struct, frozen=True):
    """A running Pod, and what to put other things in the place of to get another one."""

    body: bytes
    name: bytes
    uid: bytes
    owner_uid: bytes
    version: bytes

    def pod(self, index: int, version: int, restarted: int = 0) -> bytes:
        """``restarted``: how often its containers were."""
        cluster, node = index // PODS_PER_CLUSTER, index % NODES
        later = index * _SECONDS_BETWEEN
        own = {
            self.name: b"cluster-%d-workers-worker-%05d" % (cluster, index),
            self.uid: _derive_uid(f"pod {index}"),
            self.owner_uid: _derive_uid(f"cluster {cluster}"),
            self.version: b'"resourceVersion":"%d"' % version,
            _POSITION % 0: _POSITION % (index % PODS_PER_CLUSTER),
            _timestamp(_MADE): _timestamp(_MADE + later),
            _timestamp(_BEGUN): _timestamp(_BEGUN + later),
            _timestamp(_READY): _timestamp(_READY + later + restarted),
            CLUSTER.encode(): b"cluster-%d" % cluster,
            _NODE.encode(): b"node-%d" % node,
            _HOST.encode(): b"10.0.0.%d" % node,
            _ADDRESS.encode(): b"10.%d.%d.%d" % (1 + (index >> 16), index >> 8 & 255, index & 255),
        }
        body = self.body
        for old, new in own.items():
            body = body.replace(old, new)
        return body

    def lines(self, kind: str, indexes: range, first_version: int, restarted: int = 0) -> Iterator[bytes]:
        """Lines of a watch, each event newer than the one before."""
        for version, index in enumerate(indexes, first_version):
            yield b'{"type":"%s","object":%s}\n' % (kind.encode(), self.pod(index, version, restarted))


def make_template() -> PodTemplate:
    return asyncio.run(_make_template())


async def _make_template() -> PodTemplate:
    async with Store(MemoryJournal()) as store:
        authority = Authority(now=lambda: _MADE, new_uid=lambda: str(uuid.uuid4()), random_index=random.randrange)
        core = ApiCore(store, authority, lambda _user, _attributes: None, on_bug=print)
        await core.bootstrap()
        transport = InProcessTransport(core.handle, User("admin", groups=(MASTERS,)))
        body = await _run_worker(transport, build_worker())
    metadata = msgspec.json.decode(body, type=Pod).metadata
    owner = metadata.owner_references[0]
    version = f'"resourceVersion":"{metadata.resource_version}"'
    return PodTemplate(body, *(text.encode() for text in (metadata.name, metadata.uid, owner.uid, version)))


async def _run_worker(transport: InProcessTransport, worker: JsonObject) -> bytes:
    created = await _send(transport, "POST", PODS, worker)
    name = worker["metadata"]["name"]
    path = f"{PODS}/{name}"
    binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": _NODE}}
    await _send(transport, "POST", f"{path}/binding", binding)
    host = Host(_HOST, _ADDRESS)
    body = created
    for step, now in ((Step("admit", ADMIT), _BEGUN), (Step("start", MAKE_READY), _READY)):
        status = build_status(msgspec.json.decode(body, type=Pod), step, host, now)
        body = await _send(transport, "PATCH", f"{path}/status", {"status": status}, MERGE_PATCH)
    return body


async def _send(
    transport: InProcessTransport, method: str, path: str, tree: JsonObject, content_type: str = JSON
) -> bytes:
    call = Call(method=method, path=path, body=encode_json(tree), content_type=content_type)
    reply = await transport.send(call, 10.0)
    if reply.status >= 300:
        raise SystemExit(f"{call}: {reply.body.decode()}")
    return reply.body


def _timestamp(seconds: float) -> bytes:
    return format_timestamp(seconds).encode()


def _derive_uid(facts: str) -> bytes:
    return str(uuid.UUID(bytes=sha256(facts.encode()).digest()[:16], version=4)).encode()
