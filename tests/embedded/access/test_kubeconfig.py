"""The file that lets kubectl in."""

import shutil
import ssl
import stat
import subprocess
from base64 import b64decode
from pathlib import Path

import pytest

from heliostat.embedded.access.certificates import build_authority, build_client_certificate
from heliostat.embedded.access.kubeconfig import build_kubeconfig, write_kubeconfig
from heliostat.embedded.access.private_files import UnsafeFileError
from heliostat.kube.documents import read_documents

NOW = 1_800_000_000.0
AUTHORITY = build_authority(NOW)
ADMIN = build_client_certificate(AUTHORITY, "admin", ["system:masters"], NOW)
TEXT = build_kubeconfig("https://127.0.0.1:6443", AUTHORITY.certificate, ADMIN)


OURS = "clusters: [{name: heliostat}]\nusers: [{name: heliostat}]\ncontexts: [{name: heliostat}]\n"
OTHERS = {
    "another cluster": OURS.replace("heliostat", "prod"),
    "one more cluster": OURS.replace("clusters: [", "clusters: [{name: prod}, "),
    "one more user": OURS.replace("users: [", "users: [{name: me}, "),
    "one more context": OURS.replace("contexts: [", "contexts: [{name: dev}, "),
    "notes": "milk: 2\n",
    "no YAML": "}{",
    "a list": "- a\n",
    "no lists inside": "clusters: heliostat\nusers: heliostat\ncontexts: heliostat\n",
    "two documents": f"{OURS}---\na: b\n",
}


def test_everything_a_client_needs_is_inside() -> None:
    tree = read_documents(TEXT.reveal())[0].tree
    assert tree["current-context"] == tree["contexts"][0]["name"] == "heliostat"
    assert tree["contexts"][0]["context"] == {"cluster": "heliostat", "user": "heliostat"}
    cluster, user = tree["clusters"][0]["cluster"], tree["users"][0]["user"]
    assert cluster["server"] == "https://127.0.0.1:6443"
    assert b64decode(cluster["certificate-authority-data"]).decode() == AUTHORITY.certificate
    assert b64decode(user["client-certificate-data"]).decode() == ADMIN.certificate
    assert b64decode(user["client-key-data"]).decode() == ADMIN.key.reveal()
    assert "insecure-skip-tls-verify" not in TEXT.reveal()


def test_the_file_is_private_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "below" / "config"
    write_kubeconfig(path, TEXT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    later = build_kubeconfig("https://127.0.0.1:7000", AUTHORITY.certificate, ADMIN)
    write_kubeconfig(path, later)
    assert path.read_text() == later.reveal()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("content", ["", "# nothing yet\n", "OURS"])
def test_a_file_with_nothing_to_lose_is_taken(tmp_path: Path, content: str) -> None:
    (tmp_path / "config").write_text(OURS if content == "OURS" else content)
    write_kubeconfig(tmp_path / "config", TEXT)
    assert (tmp_path / "config").read_text() == TEXT.reveal()


@pytest.mark.parametrize("what", OTHERS)
def test_a_file_that_holds_something_else_is_left_alone(tmp_path: Path, what: str) -> None:
    path = tmp_path / "config"
    path.write_text(OTHERS[what])
    with pytest.raises(UnsafeFileError, match="name another file"):
        write_kubeconfig(path, TEXT)
    assert path.read_text() == OTHERS[what]


def test_a_directory_of_that_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    with pytest.raises(UnsafeFileError):
        write_kubeconfig(tmp_path / "config", TEXT)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_reads_it_and_what_kubectl_rewrites_is_still_ours(tmp_path: Path) -> None:
    path = tmp_path / "config"
    write_kubeconfig(path, TEXT)
    kubectl = ["kubectl", "--kubeconfig", str(path), "config"]
    view = subprocess.run(
        [*kubectl, "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert view.stdout == "https://127.0.0.1:6443"
    subprocess.run(
        [*kubectl, "set-context", "--current", "--namespace=team"], check=True, capture_output=True, timeout=60
    )
    write_kubeconfig(path, TEXT)
    assert path.read_text() == TEXT.reveal()


def test_the_pair_inside_fits_together(tmp_path: Path) -> None:
    chain = tmp_path / "chain.pem"
    user = read_documents(TEXT.reveal())[0].tree["users"][0]["user"]
    chain.write_bytes(b64decode(user["client-key-data"]) + b64decode(user["client-certificate-data"]))
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(chain)
