"""Exec plugins: real small programs, run once for all who wait, remembered until they expire, ended when they hang."""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from heliostat.kube.timestamps import format_timestamp
from heliostat.runtime.connection import AccessError, Connection, Proof
from heliostat.runtime.exec_plugin import ExecCredentials, ExecPlugin
from heliostat.runtime.kubeconfig import load_connection
from runtime.kubeconfig_files import AUTHORITY, CANARY, CLIENT, config, encoded, write

V1, V1BETA1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"
NOW = 1_800_000_000.0
ENVIRON = {"PATH": os.environ["PATH"]}


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


def credential(version: str = V1, **status: str) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})


def program(folder: Path, text: str) -> Path:
    """A program that notes each of its runs."""
    path = folder / "plugin"
    path.write_text(f'#!/bin/sh\necho run >> "{folder}/runs"\n{text}\n')
    path.chmod(0o755)
    return path


def runs(folder: Path) -> int:
    file = folder / "runs"
    return len(file.read_text().splitlines()) if file.exists() else 0


def printing(folder: Path, **status: str) -> Path:
    return program(folder, f"cat <<'END'\n{credential(**status)}\nEND")


def load(folder: Path, now: Callable[[], float] = lambda: NOW, **more: Any) -> Connection:
    wanted = {"command": "./plugin", "apiVersion": V1, "interactiveMode": "IfAvailable", **more}
    return load_connection([write(folder, config({"exec": wanted}))], ENVIRON, "", now)


def use(connection: Connection, test: Callable[[Connection], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(30):
            try:
                await test(connection)
            finally:
                await connection.credentials.close()

    asyncio.run(run())


def header(proof: Proof) -> str:
    assert proof.authorization is not None
    return proof.authorization.reveal()


@pytest.mark.parametrize("version", [V1, V1BETA1])
def test_a_token_comes_from_a_program_beside_the_kubeconfig(tmp_path: Path, version: str) -> None:
    program(tmp_path, f"cat <<'END'\n{credential(version, token='abc')}\nEND")

    async def test(connection: Connection) -> None:
        assert header(await connection.credentials.fetch()) == "Bearer abc"

    use(load(tmp_path, apiVersion=version), test)


def test_a_certificate_comes_too(tmp_path: Path) -> None:
    printing(tmp_path, clientCertificateData=CLIENT.certificate, clientKeyData=CLIENT.key.reveal())

    async def test(connection: Connection) -> None:
        proof = await connection.credentials.fetch()
        assert proof.authorization is None
        assert proof.certificate is not None
        assert proof.certificate.chain.reveal() == CLIENT.certificate
        assert proof.certificate.key.reveal() == CLIENT.key.reveal()

    use(load(tmp_path), test)


def test_the_program_is_told_what_the_kubeconfig_says(tmp_path: Path) -> None:
    told = tmp_path / "told"
    end = f"cat <<'END'\n{credential(token='abc')}\nEND"
    program(tmp_path, f'printf "%s\\n" "$KUBERNETES_EXEC_INFO" "$1" "$2" "$OWN" > "{told}"\n{end}')
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    cluster = {
        "server": "https://h:1",
        "certificate-authority-data": encoded(AUTHORITY.certificate),
        "tls-server-name": "api",
        "extensions": [extension],
    }
    wanted = {"command": "./plugin", "apiVersion": V1, "interactiveMode": "Never", "provideClusterInfo": True}
    wanted |= {"args": ["one", "two words"], "env": [{"name": "OWN", "value": "mine"}]}
    path = write(tmp_path, config({"exec": wanted}, cluster))

    async def test(connection: Connection) -> None:
        await connection.credentials.fetch()
        info, *rest = told.read_text().splitlines()
        assert rest == ["one", "two words", "mine"]
        assert json.loads(info) == {
            "kind": "ExecCredential",
            "apiVersion": V1,
            "spec": {
                "interactive": False,
                "cluster": {
                    "server": "https://h:1",
                    "tls-server-name": "api",
                    "certificate-authority-data": encoded(AUTHORITY.certificate),
                    "config": {"audience": "x"},
                },
            },
        }

    use(load_connection([path], ENVIRON), test)


def test_many_requests_run_it_once_and_it_is_remembered(tmp_path: Path) -> None:
    printing(tmp_path, token="abc")

    async def test(connection: Connection) -> None:
        await asyncio.gather(*(connection.credentials.fetch() for _ in range(20)))
        await connection.credentials.fetch()
        assert runs(tmp_path) == 1

    use(load(tmp_path), test)


def test_it_runs_again_shortly_before_it_expires(tmp_path: Path) -> None:
    clock = Clock()
    printing(tmp_path, token="abc", expirationTimestamp=format_timestamp(NOW + 100))

    async def test(connection: Connection) -> None:
        counts = []
        for seconds in (0, 89, 91, 92):
            clock.now = NOW + seconds
            await connection.credentials.fetch()
            counts.append(runs(tmp_path))
        assert counts == [1, 1, 2, 3]  # this program never gives a newer one

    use(load(tmp_path, clock), test)


def test_it_runs_again_when_the_server_refuses_what_it_gave(tmp_path: Path) -> None:
    printing(tmp_path, token="abc")

    async def test(connection: Connection) -> None:
        first = await connection.credentials.fetch()
        connection.credentials.refused(first)
        second = await connection.credentials.fetch()
        connection.credentials.refused(first)  # an old request, answered late
        assert await connection.credentials.fetch() is second
        assert runs(tmp_path) == 2

    use(load(tmp_path), test)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo please log in >&2; exit 3", "ended with code 3: please log in; run it by hand to see why"),
        (f"echo {CANARY}; exit 1", "ended with code 1: nothing on stderr; run it by hand"),
        (f"echo {CANARY}", "did not print an ExecCredential in JSON; run it by hand to see what it prints"),
        ("printf '\\377'", "did not print an ExecCredential in JSON"),
        ("true", "did not print an ExecCredential in JSON"),
        (
            "echo '{}'",
            "printed no kind of no apiVersion; it has to be ExecCredential of client.authentication.k8s.io/v1",
        ),
        (f"echo '{credential(V1BETA1, token=CANARY)}'", f"printed ExecCredential of {V1BETA1}; it has to be"),
        (f"echo '{credential()}'", "gave neither a token nor a certificate; run it by hand"),
        (f"echo '{credential(clientKeyData=CANARY)}'", "gave only one of certificate and key; it has to give both"),
        (f"echo '{credential(token=CANARY + ' x')}'", "the token is not one line of visible characters"),
        (f"echo '{credential(token=CANARY, expirationTimestamp='soon')}'", "'soon' is not a time; write it like"),
    ],
)
def test_a_program_that_fails_is_told_in_one_sentence(tmp_path: Path, script: str, sentence: str) -> None:
    program(tmp_path, script)

    async def test(connection: Connection) -> None:
        with pytest.raises(AccessError) as raised:
            await connection.credentials.fetch()
        text = str(raised.value)
        assert text.startswith(f"user 'one' in {tmp_path}/config: the ")
        assert sentence in text
        assert CANARY not in text
        assert "\n" not in text

    use(load(tmp_path), test)


def test_a_program_that_is_not_there_comes_with_its_install_hint(tmp_path: Path) -> None:
    async def test(connection: Connection) -> None:
        with pytest.raises(
            AccessError, match=r"cannot be run: No such file or directory; install it from somewhere else$"
        ):
            await connection.credentials.fetch()

    use(load(tmp_path, command="no-such-plugin", installHint="install it from\n  somewhere else\n"), test)


def test_after_a_failure_it_is_tried_again(tmp_path: Path) -> None:
    program(tmp_path, "exit 1")

    async def test(connection: Connection) -> None:
        with pytest.raises(AccessError):
            await connection.credentials.fetch()
        printing(tmp_path, token="abc")
        assert header(await connection.credentials.fetch()) == "Bearer abc"

    use(load(tmp_path), test)


def hanging(folder: Path, seconds: float = 60.0) -> ExecCredentials:
    """It hangs in a child of its own, which has to end with it."""
    path = program(folder, f'sleep 1000 & echo $! > "{folder}/child"\nwait')
    return ExecCredentials(ExecPlugin(where="here", command=str(path), api_version=V1), ENVIRON, Clock(), seconds)


async def until_there(path: Path) -> str:
    while not path.exists() or not path.read_text():
        await asyncio.sleep(0.01)
    return path.read_text().strip()


async def until_gone(pid: str) -> None:
    while Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
        await asyncio.sleep(0.01)


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    async def test() -> None:
        async with asyncio.timeout(90):
            with pytest.raises(AccessError, match=r"did not end within 0.5 s; run it by hand"):
                await hanging(tmp_path, 0.5).fetch()
            await until_gone(await until_there(tmp_path / "child"))

    asyncio.run(test())


def test_a_request_may_give_up_while_the_program_goes_on_and_closing_ends_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with asyncio.timeout(90):
            credentials = hanging(tmp_path)
            impatient = asyncio.create_task(credentials.fetch())
            child = await until_there(tmp_path / "child")
            impatient.cancel()
            await asyncio.gather(impatient, return_exceptions=True)
            assert runs(tmp_path) == 1
            assert Path(f"/proc/{child}").exists()
            await credentials.close()
            await until_gone(child)

    asyncio.run(test())


@pytest.mark.parametrize("steps", range(1, 9))
def test_whoever_gives_up_while_the_program_is_being_started_leaves_none_of_its_children(
    tmp_path: Path, steps: int
) -> None:
    async def test() -> None:
        async with asyncio.timeout(90):
            credentials = hanging(tmp_path)
            impatient = asyncio.create_task(credentials.fetch())
            for _ in range(steps):
                await asyncio.sleep(0)
            child = tmp_path / "child"
            deadline = (
                time.monotonic() + 0.5
            )  # the loop stands still: it learns of the start after the children are there
            while not (child.exists() and child.read_text()) and time.monotonic() < deadline:
                time.sleep(0.005)
            await credentials.close()
            await asyncio.gather(impatient, return_exceptions=True)
            if child.exists() and child.read_text():
                await until_gone(child.read_text().strip())

    asyncio.run(test())


def test_the_loop_goes_on_while_a_program_runs(tmp_path: Path) -> None:
    async def test() -> None:
        credentials = hanging(tmp_path)
        running = asyncio.create_task(credentials.fetch())
        await until_there(tmp_path / "child")
        loop = asyncio.get_running_loop()
        before = loop.time()
        for _ in range(100):
            await asyncio.sleep(0)
        assert loop.time() - before < 5
        assert not running.done()
        await credentials.close()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(test())
