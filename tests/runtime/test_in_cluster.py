"""The cluster that a Pod runs in."""

import asyncio
from pathlib import Path

import pytest

from heliostat.runtime.connection import AccessError
from heliostat.runtime.in_cluster import find_in_cluster

ENVIRON = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def fill(folder: Path) -> Path:
    """As the kubelet does: links into a folder that is swapped as a whole."""
    swap(folder, "1")
    for name in ("token", "ca.crt", "namespace"):
        (folder / name).symlink_to(Path("..data") / name)
    return folder


def swap(folder: Path, version: str) -> None:
    (folder / version).mkdir()
    (folder / version / "token").write_text(f"token-{version}")
    (folder / version / "ca.crt").write_text(f"authority-{version}\n")
    (folder / version / "namespace").write_text("team\n")
    (folder / "..next").symlink_to(version)
    (folder / "..next").replace(folder / "..data")


def test_address_namespace_and_files(tmp_path: Path) -> None:
    found = find_in_cluster(ENVIRON, fill(tmp_path))
    assert found is not None
    assert (found.server, found.namespace) == ("https://10.96.0.1:443", "team")


def test_a_rotated_token_and_authority_count_at_the_next_request(tmp_path: Path) -> None:
    found = find_in_cluster(ENVIRON, fill(tmp_path))
    assert found is not None
    assert found.authority is not None
    for version in ("1", "2", "3"):
        if version != "1":
            swap(tmp_path, version)
        proof = asyncio.run(found.credentials.fetch())
        assert proof.authorization is not None
        assert proof.authorization.reveal() == f"Bearer token-{version}"
        assert found.authority.read().reveal() == f"authority-{version}"
        assert found.authority.read() is found.authority.read()


def test_ipv6_gets_brackets(tmp_path: Path) -> None:
    found = find_in_cluster({**ENVIRON, "KUBERNETES_SERVICE_HOST": "fd00::1"}, fill(tmp_path))
    assert found is not None
    assert found.server == "https://[fd00::1]:443"


@pytest.mark.parametrize("environ", [{}, {"KUBERNETES_SERVICE_HOST": "h"}, {"KUBERNETES_SERVICE_PORT": "1"}])
def test_without_the_environment_this_is_no_pod(tmp_path: Path, environ: dict[str, str]) -> None:
    assert find_in_cluster(environ, fill(tmp_path)) is None


def test_a_pod_without_a_token_has_no_access(tmp_path: Path) -> None:
    assert find_in_cluster(ENVIRON, tmp_path) is None


def test_a_missing_authority_is_told(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x")
    with pytest.raises(
        AccessError, match=r"service account: the file .*ca.crt of the certificate authority cannot be read"
    ):
        find_in_cluster(ENVIRON, tmp_path)


def test_a_missing_namespace_is_default(tmp_path: Path) -> None:
    (fill(tmp_path) / "namespace").unlink()
    found = find_in_cluster(ENVIRON, tmp_path)
    assert found is not None
    assert found.namespace == "default"
