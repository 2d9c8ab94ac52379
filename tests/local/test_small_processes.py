"""What the processes of a local Heliostat do without, because they are there for as long as anything runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SOURCES = str(Path(__file__).parents[2] / "src")
# Each of these is half a megabyte or more.
FRAMEWORKS = ("aiohttp", "asyncio", "logging", "msgspec", "ssl", "subprocess", "threading")


def run_python(program: str, *flags: str) -> list[str]:
    """What it prints, word by word."""
    command = [sys.executable, *flags, "-c", f"import sys; sys.path.insert(0, {SOURCES!r}); {program}"]
    environment = {**os.environ, "SSL_CERT_FILE": "/as/it/was"}
    environment.pop("SSL_CERT_DIR", None)
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.split()


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("heliostat.local.supervisor", (*FRAMEWORKS, "pathlib", "selectors", "socket", "typing")),
        ("heliostat.embedded.node.shim.template", (*FRAMEWORKS, "datetime", "random", "tempfile")),
    ],
)
def test_the_standard_library_is_enough_and_not_all_of_it(module: str, without: tuple[str, ...]) -> None:
    """They are started without the environment's packages, so that they cannot load any."""
    loaded = run_python(f"import {module}; print(*sys.modules)", "-I", "-S")
    assert module in loaded
    assert not {*loaded} & {*without}
    package = module.rpartition(".")[0]
    assert all(name.startswith(package) for name in loaded if name.count(".") > package.count("."))


@pytest.mark.parametrize(
    ("command", "without"),
    [
        (
            "operator",
            ("aiohttp", "cryptography", "heliostat.embedded", "logging.handlers", "sqlite3", "uvloop", "yaml"),
        ),
        ("node", ("aiohttp", "cryptography", "heliostat.embedded.cel", "heliostat.plan", "sqlite3", "uvloop", "yaml")),
        ("apiserver", ("heliostat.api", "heliostat.operator", "heliostat.plan", "yaml")),
    ],
)
def test_a_command_loads_nothing_that_it_does_not_use(command: str, without: tuple[str, ...]) -> None:
    loaded = run_python(f"import heliostat.cli.{command}; print(*sys.modules)")
    assert "msgspec" in loaded
    assert not {*loaded} & {*without}


def test_the_http_library_finds_no_authorities_of_the_system_and_whoever_asks_later_does() -> None:
    program = """
from heliostat.cli.main import _import_command
_import_command("operator")
import os
from aiohttp import connector
print(connector._SSL_CONTEXT_VERIFIED.cert_store_stats()["x509_ca"])
print(os.environ["SSL_CERT_FILE"], os.environ.get("SSL_CERT_DIR", "none"))
"""
    assert run_python(program) == ["0", "/as/it/was", "none"]


def test_a_connection_of_a_thrifty_process_has_a_small_buffer() -> None:
    """The size is asyncio's own affair: this tells when it goes by another name."""
    program = """
import asyncio, ssl
from asyncio.sslproto import SSLProtocol
from heliostat.local.child_environment import use_small_buffers
async def measure():
    loop, context = asyncio.get_running_loop(), ssl.create_default_context()
    return len(SSLProtocol(loop, asyncio.Protocol(), context, None, server_hostname="a")._ssl_buffer)
before = asyncio.run(measure())
use_small_buffers()
print(before, asyncio.run(measure()))
"""
    assert run_python(program) == ["262144", "32768"]
