"""An address of this machine for a RayService behind a Gateway of the local node, which listens there by itself.

An annotation of the Gateway asks for it, and its status tells the address; it stays for as long as the Gateway does.
"""

import asyncio
import time

from heliostat.embedded.doors.gateway import CLASS_NAME, GATEWAY, HOST_ADDRESS, HOST_PORT
from heliostat.kube.jsontree import JsonObject
from heliostat.local.session import Session

_INCREMENTAL = "NewClusterWithIncrementalUpgrade"
_SECONDS = 20.0
_POLL_SECONDS = 0.2


async def find_gateway(session: Session, service: JsonObject) -> JsonObject | None:
    """The Gateway that requests come through, if it is one of ours."""
    if (service["spec"].get("upgradeStrategy") or {}).get("type") != _INCREMENTAL:
        return None
    place = {"namespace": service["metadata"]["namespace"], "name": f"{service['metadata']['name']}-gateway"}
    found = await session.find({"apiVersion": GATEWAY.api_version, "kind": GATEWAY.kind, "metadata": place})
    return found if found is not None and found["spec"].get("gatewayClassName") == CLASS_NAME else None


async def open_gateway_address(session: Session, gateway: JsonObject, port: int = 0) -> str | None:
    """One that leads through it; the one that it has, unless another port is asked for. None: nobody opens one."""
    has_one = HOST_PORT in (gateway["metadata"].get("annotations") or {})
    if port or not has_one:
        place = {key: gateway["metadata"][key] for key in ("name", "namespace")}
        wish = {"apiVersion": GATEWAY.api_version, "kind": GATEWAY.kind}
        await session.apply({**wish, "metadata": {**place, "annotations": {HOST_PORT: str(port)}}})
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        address = _read_address(await session.find(gateway) or {}, port)
        if address:
            return f"http://{address}"
        await asyncio.sleep(_POLL_SECONDS)
    return None


def _read_address(gateway: JsonObject, port: int) -> str:
    addresses = (gateway.get("status") or {}).get("addresses") or ()
    found = (str(each.get("value")) for each in addresses if each.get("type") == HOST_ADDRESS)
    return next((each for each in found if not port or each.endswith(f":{port}")), "")
