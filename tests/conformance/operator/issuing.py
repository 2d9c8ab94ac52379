"""What cert-manager would do, as the goldens were recorded: every Certificate is ready at once, its Secret is there."""

import asyncio

from conformance.operator.administrator import Administrator
from conformance.operator.foreign_kinds import CERTIFICATE
from heliostat.kube.conditions import get_condition
from heliostat.kube.jsontree import JsonObject
from heliostat.operator.kinds import SECRET
from heliostat.runtime.errors import AlreadyExistsError, ApiError

LOOK_SECONDS = 1.0
NOT_AFTER = "2099-01-01T00:00:00Z"
_KEYS = ("tls.crt", "tls.key", "ca.crt")


async def issue_for_ever(admin: Administrator) -> None:
    while True:
        for certificate in await admin.items(CERTIFICATE):
            if not _is_issued(certificate):
                await _issue(admin, certificate)
        await asyncio.sleep(LOOK_SECONDS)


def _is_issued(certificate: JsonObject) -> bool:
    ready = get_condition((certificate.get("status") or {}).get("conditions"), "Ready")
    return ready is not None and ready["observedGeneration"] == certificate["metadata"]["generation"]


async def _issue(admin: Administrator, certificate: JsonObject) -> None:
    metadata = certificate["metadata"]
    try:
        await _make_secret(admin, metadata["namespace"], certificate["spec"]["secretName"])
        ready = {"type": "Ready", "status": "True", "observedGeneration": metadata["generation"]}
        status = {"status": {"conditions": [ready], "notAfter": NOT_AFTER}}
        await admin.merge(CERTIFICATE, metadata["namespace"], metadata["name"], status, "status")
    except ApiError:
        return  # its namespace is going, or it changed meanwhile; the next look tells


async def _make_secret(admin: Administrator, namespace: str, name: str) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "data": dict.fromkeys(_KEYS, "eA=="),
    }
    try:
        await admin.create(SECRET, secret)
    except AlreadyExistsError:
        return
