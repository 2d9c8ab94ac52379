"""Ask a real kube-apiserver again: ``PYTHONPATH=tests python -m embedded.kinds.record_answers``.

It rewrites the recorded verdicts. A server is started from the project's own tools, or the one at ``--url`` is taken,
with ``--token`` and ``--authority``.
"""

import argparse
import asyncio
import json
import ssl
from typing import Any

import aiohttp

from embedded.kinds.exchange import FOLDER, JSON, load, prepare, save, take

LAG = 2.0  # until the views that admission judges by have seen what was written


async def record(url: str, token: str, authority: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Accept": JSON}
    tls = ssl.create_default_context(cafile=authority)
    async with aiohttp.ClientSession(url, headers=headers, connector=aiohttp.TCPConnector(ssl=tls)) as session:

        async def call(method: str, path: str, body: Any, content_type: str) -> tuple[int, Any]:
            data = None if body is None else json.dumps(body)
            async with session.request(method, path, data=data, headers={"Content-Type": content_type}) as answer:
                text = await answer.text()
                return answer.status, json.loads(text) if text.startswith("{") else text

        for file in sorted(FOLDER.glob("*.json")):
            namespace = f"recorded-{file.stem}"
            await prepare(call, namespace)
            await asyncio.sleep(LAG)
            steps = load(file.stem)
            for step in steps:
                step.recorded = await take(step, call, namespace)
            save(file.stem, steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for option in ("--url", "--token", "--authority"):
        parser.add_argument(option)
    options = parser.parse_args()
    if options.url:
        asyncio.run(record(options.url, options.token, options.authority))
        return
    from tools.kubernetes.run import ControlPlane

    with ControlPlane.started() as cluster:
        asyncio.run(record(cluster.url, cluster.token, str(cluster.authority_file)))


if __name__ == "__main__":
    main()
