"""One check of a container: a command in it, an HTTP request, a connection, or a gRPC health call.

What comes back is success, failure with what the other side said, or unknown with why it could not be checked.
"""

import asyncio
import errno
import os
from typing import Any

from msgspec import Struct

from heliostat.embedded.node.isolating.sandbox import Sandbox, SandboxError
from heliostat.embedded.node.pods import Container, Probe
from heliostat.embedded.node.probing import http_get
from heliostat.embedded.node.probing.grpc_health import NoHealthServiceError, fetch_health
from heliostat.embedded.node.probing.http_get import Connect, UnknownPortError, resolve_port
from heliostat.embedded.node.probing.probes import ProbeResult
from heliostat.embedded.node.short_commands import run_short_command


class Target(Struct, frozen=True):
    """What is checked: a run of a container."""

    sandbox: Sandbox
    id: str
    container: Container
    address: str  # the Pod's


class Checked(Struct, frozen=True):
    verdict: ProbeResult
    output: str = ""  # what was said, or why it could not be checked


async def check(probe: Probe, target: Target, connect: Connect) -> Checked:
    """Never takes longer than the probe's timeout, and never raises."""
    try:
        if probe.exec_ is not None:
            return await _check_command(probe, target)
        async with asyncio.timeout(probe.timeout_seconds):
            return await _check_network(probe, target, connect)
    except TimeoutError:
        return Checked(ProbeResult.FAILURE, f"no answer within {probe.timeout_seconds}s")
    except (SandboxError, UnknownPortError) as error:
        return Checked(ProbeResult.UNKNOWN, str(error))
    except OSError as error:
        return Checked(ProbeResult.FAILURE, explain(error))


async def _check_command(probe: Probe, target: Target) -> Checked:
    command = tuple((probe.exec_ or {}).get("command") or ())
    result = await run_short_command(target.sandbox, target.id, command, probe.timeout_seconds)
    if result.is_late:
        return Checked(
            ProbeResult.FAILURE, f'command timed out: "{" ".join(command)}" timed out after {probe.timeout_seconds}s'
        )
    if result.why:
        return Checked(ProbeResult.FAILURE, result.why)
    return Checked(ProbeResult.SUCCESS if result.exit_code == 0 else ProbeResult.FAILURE, result.output)


async def _check_network(probe: Probe, target: Target, connect: Connect) -> Checked:
    if probe.http_get is not None:
        return await _check_http(probe.http_get, target, connect)
    if probe.tcp_socket is not None:
        action = probe.tcp_socket
        made = await connect(action.get("host") or target.address, resolve_port(action["port"], target.container))
        made.close()
        return Checked(ProbeResult.SUCCESS)
    if probe.grpc is not None:
        return await _check_grpc(probe.grpc, target, connect)
    return Checked(ProbeResult.UNKNOWN, f"missing probe handler for {target.container.name}")


async def _check_http(action: dict[str, Any], target: Target, connect: Connect) -> Checked:
    answered = await http_get.get(connect, action, target.container, target.address)
    if 200 <= answered.status < 400:
        return Checked(ProbeResult.SUCCESS)
    return Checked(ProbeResult.FAILURE, f"HTTP probe failed with statuscode: {answered.status}")


async def _check_grpc(action: dict[str, Any], target: Target, connect: Connect) -> Checked:
    port = int(action["port"])
    made = await connect(target.address, port)
    try:
        status = await fetch_health(made, f"{target.address}:{port}", action.get("service") or "")
    except NoHealthServiceError as error:
        return Checked(ProbeResult.FAILURE, f"error: {error}")
    if status == "SERVING":
        return Checked(ProbeResult.SUCCESS)
    return Checked(ProbeResult.FAILURE, f'service unhealthy (responded with "{status}")')


def explain(error: OSError) -> str:
    """In words that people search for."""
    if error.errno is not None and error.errno in errno.errorcode:
        return os.strerror(error.errno).lower()
    return str(error) or type(error).__name__
