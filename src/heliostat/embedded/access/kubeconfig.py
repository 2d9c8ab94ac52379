"""The file that lets kubectl in: the server's address, its authority and a client certificate, all in one.

Rules: written whole, 0600, by one rename; certificates and keys are inside, so the file can be moved. A file that holds
anything but ours is never overwritten: it may be the user's only way into other clusters. It is JSON, which is YAML:
whoever reads nothing else does without a YAML library, which is 1 MB of the operator and of the node.
"""

import json
from base64 import b64encode
from pathlib import Path

from heliostat.embedded.access.certificates import Credential
from heliostat.embedded.access.private_files import UnsafeFileError, replace_private
from heliostat.kube.document_error import DocumentError
from heliostat.kube.documents import read_documents
from heliostat.kube.hidden import Hidden

NAME = "heliostat"  # of cluster, user and context


def build_kubeconfig(server: str, authority_certificate: str, client: Credential, name: str = NAME) -> Hidden:
    """``server`` is the address such as ``https://127.0.0.1:6443``."""
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"certificate-authority-data": _encode(authority_certificate), "server": server},
            }
        ],
        "users": [
            {
                "name": name,
                "user": {
                    "client-certificate-data": _encode(client.certificate),
                    "client-key-data": _encode(client.key.reveal()),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return Hidden(json.dumps(tree, indent=2) + "\n")


def write_kubeconfig(path: Path, text: Hidden, name: str = NAME) -> None:
    """Make the file, or replace the one of an earlier start."""
    if path.exists() and not _is_ours(path, name):
        raise UnsafeFileError(path, "holds something else than this server's kubeconfig", "name another file")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_private(path, text)


def _is_ours(path: Path, name: str) -> bool:
    try:
        documents = read_documents(path.read_bytes(), str(path))
    except (OSError, DocumentError):
        return False
    if not documents:
        return True  # an empty file has nothing to lose
    tree = documents[0].tree
    return len(documents) == 1 and all(_names(tree.get(key)) == {name} for key in ("clusters", "users", "contexts"))


def _names(entries: object) -> set[object]:
    """The names in a list of entries; what is no such list has a name that is not ours."""
    if not isinstance(entries, list):
        return {None}
    return {entry.get("name") if isinstance(entry, dict) else None for entry in entries}


def _encode(text: str) -> str:
    return b64encode(text.encode()).decode()
