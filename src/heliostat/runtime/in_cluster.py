"""The cluster that this Pod runs in: the address in the environment, the rest in a folder that the kubelet fills.

The kubelet replaces the token within the hour and the authority when it rotates; both are files read on change.
"""

from collections.abc import Mapping
from pathlib import Path

from heliostat.runtime.connection import AccessError, Connection
from heliostat.runtime.server_address import check_address, decide_proxy
from heliostat.runtime.stored_credentials import StoredCredentials
from heliostat.runtime.stored_texts import FileText

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_WHERE = "the Pod's service account"


def find_in_cluster(environ: Mapping[str, str], folder: Path = FOLDER) -> Connection | None:
    """None: this is no Pod that may talk to an API server."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port or not (folder / "token").exists():
        return None
    token = FileText(folder / "token", _WHERE, "the token")
    authority = FileText(folder / "ca.crt", _WHERE, "the certificate authority")
    token.read()
    authority.read()
    bracketed = f"[{host}]" if ":" in host else host
    server = check_address(f"https://{bracketed}:{port}", "KUBERNETES_SERVICE_HOST and _PORT in the environment")
    return Connection(
        server=server,
        credentials=StoredCredentials(_WHERE, token=token),
        namespace=_read_namespace(folder / "namespace"),
        authority=authority,
        proxy=decide_proxy(server, environ),
        is_in_cluster=True,
    )


def _read_namespace(path: Path) -> str:
    try:
        return FileText(path, _WHERE, "the namespace").read().reveal()
    except AccessError:
        return "default"
