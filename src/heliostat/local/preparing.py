"""``python -m heliostat.local.preparing KUBECONFIG``: makes a control plane that has just begun ready for the others.

It answers, serves the ray.io kinds and those of the Gateway API, and has the class of Gateways that the node carries
out. What is in the way is printed, and it is tried again until it is done.
"""

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from heliostat.api.crds import all_crds
from heliostat.embedded.doors.gateway import GATEWAY_CLASS, build_gateway_class, gateway_crds
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.client import Client
from heliostat.runtime.errors import AlreadyExistsError
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection

AGAIN_SECONDS = 0.05
_CRD = ResourceType(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", is_namespaced=False
)


async def prepare(kubeconfig: Path) -> None:
    definitions, told = [*all_crds(), *gateway_crds()], ""
    while True:
        try:
            await prepare_server(kubeconfig, definitions)
        except Exception as error:  # noqa: BLE001  told, and tried again
            words = " ".join(f"{error}".split())
            if words != told:
                os.write(sys.stdout.fileno(), f"{words}\n".encode())
            told = words
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            return


async def prepare_server(kubeconfig: Path, definitions: Sequence[JsonObject]) -> None:
    """Raises what is in the way.

    One definition after the other: the server takes each apart into 3 MB of objects, and what it needed once for all of
    them it would keep (102 MB of control plane instead of 89).
    """
    if not kubeconfig.exists():
        raise ConnectionError("the control plane has not written its kubeconfig yet")
    transport = HttpsTransport(find_connection(os.environ, kubeconfig, ""), "heliostat-up")
    try:
        client = Client(transport, clock=time.monotonic, request_seconds=10.0)
        for tree in definitions:
            await _install(client, tree)
        with suppress(AlreadyExistsError):  # somebody may have described it otherwise
            await client.create(GATEWAY_CLASS, build_gateway_class())
    finally:
        await transport.close()


async def _install(client: Client, tree: JsonObject) -> None:
    try:
        await client.create(_CRD, tree)
    except AlreadyExistsError:
        found = msgspec.json.decode(await client.get(_CRD, "", tree["metadata"]["name"]))
        version = found["metadata"]["resourceVersion"]
        await client.replace(_CRD, {**tree, "metadata": {**tree["metadata"], "resourceVersion": version}})


if __name__ == "__main__":
    asyncio.run(prepare(Path(sys.argv[1])))
