"""Where secrets lie and travel: TLS of today only, files that nobody else reads, and nothing in logs or arguments."""

import ast
import asyncio
import os
import re
import signal
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import heliostat
from embedded.security.guarded import Guarded, guarding
from embedded.security.wire import Asked

SOURCES = sorted(Path(heliostat.__file__).parent.rglob("*.py"))
PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
READY_SECONDS = 30


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_old_tls_is_not_spoken(tmp_path: Path, version: ssl.TLSVersion) -> None:
    async def test(guarded: Guarded) -> None:
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.load_verify_locations(cadata=guarded.identity.authority.certificate)
        old.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1"):
            old.minimum_version = version
        with pytest.warns(DeprecationWarning, match="TLSv1"):
            old.maximum_version = version
        with pytest.raises((ssl.SSLError, ConnectionError)):
            async with guarded.wire(old) as wire:
                await wire.ask(Asked("GET", "/healthz"))

    guarding(tmp_path / "data", test)


def test_a_client_that_checks_names_finds_the_right_ones_only(tmp_path: Path) -> None:
    async def test(guarded: Guarded) -> None:
        tls = guarded.tls()
        assert tls.verify_mode == ssl.CERT_REQUIRED
        assert tls.check_hostname
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection("127.0.0.1", guarded.server.port, ssl=tls, server_hostname="evil.example")

    guarding(tmp_path / "data", test)


@contextmanager
def running(directory: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """``heliostat apiserver`` as people start it, under a careless umask."""
    previous = os.umask(0)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "heliostat.cli", "apiserver", "--port=0", *arguments],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.umask(previous)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=READY_SECONDS)


def modes_below(directory: Path) -> dict[str, str]:
    """What others could do, for whatever is not private."""
    wide = {}
    for path in (directory, *directory.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & 0o077:
            wide[str(path.relative_to(directory))] = f"{mode:04o}"
    return wide


@pytest.mark.slow
def test_a_running_server_keeps_its_secrets_to_its_owner(tmp_path: Path) -> None:
    with running(tmp_path, "--data=state") as process:
        said = first_words(process)
        state = tmp_path / "state"
        names = {path.name for path in state.rglob("*")}
        assert {"kubeconfig", "state.db", "ca.pem", "apiserver.pem", "service-accounts.pem"} <= names
        assert modes_below(state) == {}
        arguments = Path(f"/proc/{process.pid}/cmdline")
        if arguments.exists():
            assert not re.search(r"token|eyJ|PRIVATE", arguments.read_text())
    secrets = set(re.findall(r'(?:key-data|token)": "([^"]+)"', (state / "kubeconfig").read_text()))
    assert secrets
    assert not [secret for secret in secrets if secret in said]
    assert not PEM.search(said)


@pytest.mark.slow
def test_a_server_in_memory_writes_its_kubeconfig_for_its_owner_only(tmp_path: Path) -> None:
    with running(tmp_path, "--memory", "--kubeconfig=admin.yaml") as process:
        first_words(process)
        assert stat.S_IMODE((tmp_path / "admin.yaml").stat().st_mode) == 0o600


def first_words(process: subprocess.Popen[str]) -> str:
    """That it is ready, and where its kubeconfig is."""
    assert process.stdout is not None
    said = process.stdout.readline() + process.stdout.readline()
    assert said.startswith("ready: "), said
    return said


# Keyword arguments that switch verification off, in the HTTP, TLS and JWT libraries that Python programs use.
SWITCHES = {"verify": False, "ssl": False, "verify_ssl": False, "check_hostname": False, "verify_signature": False}
ATTRIBUTES = {"check_hostname"}
NAMES = {"CERT_NONE", "_create_unverified_context", "_create_default_https_context"}
# A kubeconfig may say insecure-skip-tls-verify; the one place that obeys says so aloud. Probes and the proxy to Pods
# check no certificates, as in every cluster: a Pod's names mean nothing. The stand-in for wget does what it is told.
WISHED = {
    ("client_tls.py", "check_hostname = False"),
    ("client_tls.py", "CERT_NONE"),
    ("http_get.py", "CERT_NONE"),
    ("backend.py", "CERT_NONE"),
    ("wget.py", "CERT_NONE"),
}


def switched_off(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in SWITCHES and _is_false(node.value):
            yield node.value.lineno, f"{node.arg}=False"
        elif isinstance(node, ast.Assign) and _is_false(node.value):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr in ATTRIBUTES:
                    yield node.lineno, f"{target.attr} = False"
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield node.lineno, node.attr
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in SWITCHES and _is_false(value):
                    yield key.lineno, f"{key.value!r}: False"


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is False or node.value == 0)


def test_no_client_of_ours_skips_verification() -> None:
    assert len(SOURCES) > 100
    suspects = {
        path: text for path in SOURCES if any(word in (text := path.read_text()) for word in (*SWITCHES, *NAMES))
    }
    found = {(path.name, what) for path, text in suspects.items() for _line, what in switched_off(ast.parse(text))}
    assert found <= WISHED


@pytest.mark.parametrize(
    "text",
    [
        "get(url, verify=False)",
        "connect(ssl=False)",
        "context.check_hostname = False",
        "context.verify_mode = ssl.CERT_NONE",
        "ssl._create_unverified_context()",
        "decode(token, options={'verify_signature': False})",
    ],
)
def test_the_search_for_skipped_verification_finds_it(text: str) -> None:
    assert list(switched_off(ast.parse(text)))
