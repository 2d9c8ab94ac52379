"""A stand-in for cert-manager: its two kinds, and a thread that issues real certificates for what is asked of them.

It knows self-signed and CA issuers. A Certificate that asks for something new (the addresses of Pods that came) gets a
new one in its Secret, and says so with the generation that it was issued for.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

from e2e.certificates import Pair, decode_secret, encode_secret, issue
from e2e.clusters import apply
from e2e.local_machine import LocalMachine

GROUP = "cert-manager.io"
_LOOK_SECONDS = 1.0


@contextmanager
def cert_manager(machine: LocalMachine) -> Iterator[None]:
    """From now on Certificates are issued; the kinds stay until the machine is gone."""
    stop = threading.Event()
    issuing = _Issuing(machine, stop)
    issuing.start()
    try:
        yield
    finally:
        stop.set()
        issuing.join()


def install_kinds(machine: LocalMachine) -> None:
    apply(machine, _build_definition("Issuer"), _build_definition("Certificate"))
    names = [f"crd/{kind.lower()}s.{GROUP}" for kind in ("Issuer", "Certificate")]
    machine.kubectl("wait", *names, "--for=condition=Established", "--timeout=30s")


class _Issuing(threading.Thread):
    def __init__(self, machine: LocalMachine, stop: threading.Event) -> None:
        super().__init__(name="cert-manager")
        self._machine = machine
        self._stopped = stop

    def run(self) -> None:
        while not self._stopped.wait(_LOOK_SECONDS):
            with suppress(AssertionError):  # of kubectl: something was deleted since we looked
                for certificate in self._list("certificates"):
                    if not _is_issued(certificate):
                        self._issue(certificate)

    def _issue(self, certificate: dict[str, Any]) -> None:
        """Not before its issuer has a certificate of its own."""
        wanted = certificate["spec"]
        issuer = msgspec.json.decode(self._machine.kubectl("get", "issuer", wanted["issuerRef"]["name"], "-o", "json"))
        authority = self._find_pair(issuer["spec"]["ca"]["secretName"]) if "ca" in issuer["spec"] else None
        if authority is None and "ca" in issuer["spec"]:
            return
        pair = issue(wanted, authority, self._find_pair(wanted["secretName"]))
        apply(self._machine, encode_secret(wanted["secretName"], pair))
        self._tell(certificate)

    def _tell(self, certificate: dict[str, Any]) -> None:
        metadata = certificate["metadata"]
        ready = {
            "type": "Ready", "status": "True", "reason": "Ready", "message": "issued",
            "observedGeneration": metadata["generation"], "lastTransitionTime": metadata["creationTimestamp"],
        }  # fmt: skip
        text = msgspec.json.encode({"status": {"conditions": [ready]}}).decode()
        self._machine.kubectl(
            "patch", "certificate", metadata["name"], "--subresource=status", "--type=merge", "-p", text
        )

    def _find_pair(self, secret: str) -> Pair | None:
        found = [each for each in self._list("secrets") if each["metadata"]["name"] == secret]
        return decode_secret(found[0]) if found else None

    def _list(self, plural: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = msgspec.json.decode(self._machine.kubectl("get", plural, "-o", "json"))["items"]
        return items


def _is_issued(certificate: dict[str, Any]) -> bool:
    conditions = certificate.get("status", {}).get("conditions") or []
    return any(each["observedGeneration"] == certificate["metadata"]["generation"] for each in conditions)


def _build_definition(kind: str) -> dict[str, Any]:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": free, "status": free}}},
        "subresources": {"status": {}},
    }
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }
