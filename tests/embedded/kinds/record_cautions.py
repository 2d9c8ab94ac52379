"""Ask a real kube-apiserver for its warnings again: ``PYTHONPATH=tests:. python -m embedded.kinds.record_cautions``."""

import asyncio
import json
import re
import ssl
from typing import Any

import aiohttp
import msgspec
from tools.kubernetes.run import ControlPlane

from embedded.kinds.caution_cases import CASES, FILE, NAMESPACE, Told
from embedded.kinds.exchange import JSON, prepare
from embedded.kinds.trying import Sent, try_out

_TEXT = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')
LAG = 2.0  # until the views that admission judges by have seen what was written


def _plain(header: str) -> str:
    found = _TEXT.fullmatch(header)
    assert found is not None, header
    return re.sub(r"\\(.)", r"\1", found[1])


async def record(cluster: ControlPlane) -> None:
    headers = {"Authorization": f"Bearer {cluster.token}", "Accept": JSON}
    tls = ssl.create_default_context(cafile=str(cluster.authority_file))
    async with aiohttp.ClientSession(cluster.url, headers=headers, connector=aiohttp.TCPConnector(ssl=tls)) as session:

        async def send(sent: Sent) -> Told:
            typed = {"Content-Type": sent.content_type}
            async with session.request(sent.method, sent.path, data=json.dumps(sent.body), headers=typed) as answer:
                await answer.read()
                return Told(answer.status, [_plain(header) for header in answer.headers.getall("Warning", [])])

        async def call(method: str, path: str, body: Any, content_type: str) -> tuple[int, Any]:
            return (await send(Sent(method, path, body, content_type))).status, None

        await prepare(call, NAMESPACE)
        await asyncio.sleep(LAG)
        told = {case.name: await try_out(case, send) for case in CASES}
    lines = ",\n".join(f"{json.dumps(name)}: {msgspec.json.encode(each).decode()}" for name, each in told.items())
    FILE.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    with ControlPlane.started() as running:
        asyncio.run(record(running))
