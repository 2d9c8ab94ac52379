"""A real kube-apiserver, built and started by the project's own tools."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from tools.kubernetes.run import ControlPlane

from conformance.over_http import HttpTarget

# Old revisions come from etcd, so that compacting etcd is enough to make the server forget them.
FLAGS = ("--feature-gates=ListFromCacheSnapshot=false",)
LAG = 1.0  # of the views that admission and authorization judge by
QUIET = 1.0  # generous: a recording must not miss an event because the machine was busy


class RealTarget(HttpTarget):
    def __init__(self, cluster: ControlPlane) -> None:
        tls = ssl.create_default_context(cafile=cluster.authority_file)
        super().__init__("real", cluster.url, tls=tls, token=cluster.token, quiet=QUIET)
        self._etcd = cluster.etcd_url

    async def catch_up(self) -> None:
        await asyncio.sleep(LAG)

    async def compact(self) -> None:
        """Through etcd's JSON gateway: kube-apiserver itself does it every five minutes."""
        async with aiohttp.ClientSession(self._etcd) as etcd:
            key = base64.b64encode(b"compact").decode()
            async with etcd.post("/v3/kv/range", data=json.dumps({"key": key})) as answer:
                revision = json.loads(await answer.text())["header"]["revision"]
            async with etcd.post("/v3/kv/compaction", data=json.dumps({"revision": revision})) as answer:
                answer.raise_for_status()


@asynccontextmanager
async def real_target() -> AsyncIterator[RealTarget]:
    with ControlPlane.started(flags=FLAGS) as cluster:
        async with RealTarget(cluster) as target:
            yield target
