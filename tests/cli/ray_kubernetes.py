"""A whole small Kubernetes with the ray.io operator beside a test, for commands that block."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heliostat.api.crds import all_crds
from heliostat.kube.resource_types import ResourceType
from heliostat.operator.options import OperatorOptions
from heliostat.operator.program import RayOperator
from heliostat.runtime.client import Client
from heliostat.runtime.errors import RefusedError
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import find_connection

CRD = ResourceType("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False)


@contextmanager
def operator_in_thread(kubeconfig: Path) -> Iterator[list[str]]:
    """The problems that it meets, as they come, without what the server refuses; the definitions are there before it
    starts."""
    problems: list[str] = []
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    begun = threading.Event()

    def note(where: str, error: Exception) -> None:
        if not isinstance(error, RefusedError):
            problems.append(f"{where}: {error}")

    async def work() -> None:
        transport = HttpsTransport(find_connection({}, kubeconfig), "test-operator")
        client = Client(transport, clock=loop.time, request_seconds=30.0)
        for tree in all_crds(slim=True):
            await client.create(CRD, tree)
        begun.set()
        operator = RayOperator(transport, OperatorOptions(), on_problem=note)
        try:
            await operator.run(stop)
        finally:
            await transport.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(work(),), name="test-operator")
    thread.start()
    try:
        assert begun.wait(30)
        yield problems
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
