"""``heliostat expose gateway/NAME``: a Gateway at an address of this machine.

The local gateway listens there itself, as long as an annotation of the Gateway asks for it: nothing is forwarded, and
requests meet the routes as they do in the cluster.
"""

import asyncio
from contextlib import suppress

import msgspec

from heliostat.cli.cluster_access import Cluster
from heliostat.cli.errors import CommandError
from heliostat.embedded.doors.gateway import CONTROLLER_NAME, GATEWAY, GATEWAY_CLASS, HOST_ADDRESS, HOST_PORT
from heliostat.kube.conditions import TRUE, get_condition
from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.errors import ApiError, NotFoundError

KINDS = ("gateway", "gateways", "gtw", "gateway.gateway.networking.k8s.io", "gateways.gateway.networking.k8s.io")
USUAL_PORT = 8080
OPEN_SECONDS = 30.0
_LOOK_SECONDS = 0.1
_STAY_SECONDS = 2.0


async def expose_gateway(cluster: Cluster, name: str, port: int | None, *, stays: bool) -> int:
    """``stays``: the address is there until the Gateway goes; otherwise until somebody interrupts."""
    gateway = await cluster.fetch_object(GATEWAY, name)
    await _check_class(cluster, gateway)
    wanted = USUAL_PORT if port is None else port
    await _ask_for(cluster, name, str(wanted))
    is_open = False
    try:
        address = await _wait_open(cluster, name, wanted)
        is_open = True
        print(f"Gateway {name} answers at http://{address}{'' if stays else ' (until Ctrl-C)'}", flush=True)
        return 0 if stays else await _wait_gone(cluster, gateway)
    finally:
        if not (stays and is_open):
            with suppress(ApiError):
                await _ask_for(cluster, name, None)


async def _check_class(cluster: Cluster, gateway: JsonObject) -> None:
    name = gateway["spec"]["gatewayClassName"]
    class_ = await cluster.fetch_object(GATEWAY_CLASS, name)
    if class_["spec"]["controllerName"] != CONTROLLER_NAME:
        words = f"Gateway {gateway['metadata']['name']} is of class {name}, which {class_['spec']['controllerName']}"
        raise CommandError(f"{words} carries out; only Gateways of the local node can be exposed", 1)
    accepted = get_condition((class_.get("status") or {}).get("conditions"), "Accepted")
    if accepted is not None and accepted["status"] == "False":
        raise CommandError(f"Gateways of class {name} are not carried out here: {accepted['message']}", 1)


async def _ask_for(cluster: Cluster, name: str, port: str | None) -> None:
    with suppress(NotFoundError):
        changes = {"metadata": {"annotations": {HOST_PORT: port}}}
        await cluster.client.patch(GATEWAY, cluster.namespace, name, changes)


async def _wait_open(cluster: Cluster, name: str, wanted: int) -> str:
    """An address that it had before is not meant."""
    status: JsonObject = {}
    with suppress(TimeoutError):
        async with asyncio.timeout(OPEN_SECONDS):
            while True:
                found = msgspec.json.decode(await cluster.client.get(GATEWAY, cluster.namespace, name))
                status = found.get("status") or {}
                for address in status.get("addresses") or ():
                    if address.get("type") == HOST_ADDRESS and (not wanted or address["value"].endswith(f":{wanted}")):
                        return str(address["value"])
                _raise_refusal(status, wanted)
                await asyncio.sleep(_LOOK_SECONDS)
    programmed = get_condition(status.get("conditions"), "Programmed") or {}
    why = programmed.get("message") or "is the local node up? heliostat status tells"
    raise CommandError(f"Gateway {name} does not listen on this machine after {OPEN_SECONDS:g} s: {why}", 1)


def _raise_refusal(status: JsonObject, wanted: int) -> None:
    """A Gateway that serves the cluster says beside that why it does not listen here."""
    programmed = get_condition(status.get("conditions"), "Programmed") or {}
    if programmed.get("status") == TRUE and f":{wanted}: " in programmed.get("message", ""):
        raise CommandError(f"cannot listen on {programmed['message']}; --port names another", 1)


async def _wait_gone(cluster: Cluster, gateway: JsonObject) -> int:
    name, uid = gateway["metadata"]["name"], gateway["metadata"]["uid"]
    while True:
        try:
            if uid.encode() not in await cluster.client.get(GATEWAY, cluster.namespace, name):
                return 0
        except NotFoundError:
            return 0
        except ApiError:
            pass  # a server that is away says nothing about it
        await asyncio.sleep(_STAY_SECONDS)
