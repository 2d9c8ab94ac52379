"""Credentials from a program: the exec plugins of a kubeconfig (client.authentication.k8s.io/v1 and v1beta1).

Rules: the program runs beside the loop, once however many requests wait, in a process group of its own that ends with
it; what it gave is used until shortly before it expires or the server refuses it; nobody sits at our keyboard, so it
gets no input. What it prints on stdout is secret and in no message; the end of its stderr is.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.kube.hidden import Hidden
from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.kube.timestamps import TimestampError, parse_timestamp
from heliostat.runtime.connection import AccessError, Certificate, Proof
from heliostat.runtime.stored_credentials import build_bearer

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")

_RENEW_BEFORE = 10.0  # seconds: a proof must not expire between here and the server
_LONGEST_STDERR = 400


class ExecPlugin(Struct, frozen=True, kw_only=True):
    where: str  # user "ann" in /home/ann/.kube/config
    command: str
    api_version: str
    args: tuple[Hidden, ...] = ()
    env: tuple[tuple[str, Hidden], ...] = ()
    install_hint: str = ""
    cluster: JsonObject | None = None  # told to the program when it asks for it


class _Status(Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str | None = None


class _Printed(Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


class ExecCredentials:
    """``environ`` is what the program inherits; ``now`` gives epoch seconds, which expiry is told in."""

    def __init__(
        self, plugin: ExecPlugin, environ: Mapping[str, str], now: Callable[[], float], seconds: float = 60.0
    ) -> None:
        self._plugin = plugin
        self._environ = environ
        self._now = now
        self._seconds = seconds
        self._proof: Proof | None = None
        self._renew_at: float | None = None  # None: never
        self._running: asyncio.Task[Proof] | None = None

    def at_once(self) -> Proof | None:
        is_good = self._renew_at is None or self._now() < self._renew_at
        return self._proof if is_good else None

    async def fetch(self) -> Proof:
        known = self.at_once()
        if known is not None:
            return known
        if self._running is None:
            self._running = asyncio.create_task(self._renew())
            self._running.add_done_callback(self._ran)
        return await asyncio.shield(self._running)

    def refused(self, proof: Proof) -> None:
        if proof is self._proof:
            self._proof = None

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait((self._running,))

    def _ran(self, task: asyncio.Task[Proof]) -> None:
        self._running = None
        if not task.cancelled():
            task.exception()  # whoever waited has it; nobody may have

    async def _renew(self) -> Proof:
        printed = read_printed(await self._run(), self._plugin)
        self._proof, expires = printed
        self._renew_at = None if expires is None else expires - _RENEW_BEFORE
        return self._proof

    async def _run(self) -> bytes:
        plugin = self._plugin
        try:
            process = await self._start()
        except (OSError, ValueError) as error:
            raise _cannot_run(plugin, error) from None
        stdout, stderr = await self._finish(process)
        if process.returncode:
            told = stderr.decode(errors="replace").strip()[-_LONGEST_STDERR:] or "nothing on stderr"
            raise _failed(plugin, f"ended with code {process.returncode}: {told}", "run it by hand to see why")
        return stdout

    async def _start(self) -> asyncio.subprocess.Process:
        """Who gives up while it is being started waits until it has been: only then its whole group can be ended."""
        plugin = self._plugin
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                plugin.command,
                *(arg.reveal() for arg in plugin.args),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._build_environment(),
                start_new_session=True,
            )
        )
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            process = await starting
            _kill_group(process)
            await process.wait()
            raise

    async def _finish(self, process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
        try:
            async with asyncio.timeout(self._seconds):
                return await process.communicate()
        except TimeoutError:
            _kill_group(process)
            problem = f"did not end within {self._seconds:g} s"
            raise _failed(self._plugin, problem, "run it by hand to see what it waits for") from None
        except asyncio.CancelledError:
            _kill_group(process)
            raise
        finally:
            await process.wait()

    def _build_environment(self) -> dict[str, str]:
        info = encode_json(build_exec_info(self._plugin)).decode()
        own = {name: value.reveal() for name, value in self._plugin.env}
        return {**self._environ, **own, "KUBERNETES_EXEC_INFO": info}


def build_exec_info(plugin: ExecPlugin) -> JsonObject:
    """What the program is told about the request."""
    spec: dict[str, Any] = {"interactive": False}
    if plugin.cluster is not None:
        spec = {"cluster": plugin.cluster, **spec}
    return {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}


def read_printed(data: bytes, plugin: ExecPlugin) -> tuple[Proof, float | None]:
    """The proof in an ExecCredential, and the epoch second at which it expires."""
    try:
        printed = msgspec.json.decode(data, type=_Printed)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise _failed(
            plugin, "did not print an ExecCredential in JSON", "run it by hand to see what it prints"
        ) from None
    if printed.kind != "ExecCredential" or printed.api_version != plugin.api_version:
        problem = f"printed {printed.kind or 'no kind'} of {printed.api_version or 'no apiVersion'}"
        raise _failed(plugin, problem, f"it has to be ExecCredential of {plugin.api_version}, as the kubeconfig says")
    status = printed.status or _Status()
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise _failed(plugin, "gave only one of certificate and key", "it has to give both or neither")
    if not status.token and not status.client_certificate_data:
        raise _failed(plugin, "gave neither a token nor a certificate", "run it by hand; it may want a login first")
    return _build_proof(status, plugin), _read_expiry(status, plugin)


def _build_proof(status: _Status, plugin: ExecPlugin) -> Proof:
    bearer = build_bearer(Hidden(status.token), plugin.where) if status.token else None
    if not status.client_certificate_data:
        return Proof(bearer)
    return Proof(bearer, Certificate(Hidden(status.client_certificate_data), Hidden(status.client_key_data)))


def _read_expiry(status: _Status, plugin: ExecPlugin) -> float | None:
    if status.expiration_timestamp is None:
        return None
    try:
        return parse_timestamp(status.expiration_timestamp)
    except TimestampError as error:
        raise _failed(plugin, "gave an expirationTimestamp that is none", str(error)) from None


def _kill_group(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _cannot_run(plugin: ExecPlugin, error: OSError | ValueError) -> AccessError:
    problem = error.strerror if isinstance(error, OSError) else "its command line has a zero byte"
    return _failed(plugin, f"cannot be run: {problem}", plugin.install_hint or "install it or correct the command")


def _failed(plugin: ExecPlugin, problem: str, fix: str) -> AccessError:
    return AccessError(plugin.where, f"the exec plugin {plugin.command} {problem}", " ".join(fix.split()))
