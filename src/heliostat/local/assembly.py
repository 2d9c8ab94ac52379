"""What a local Heliostat consists of: which processes, with which arguments, and the supervisor that keeps them."""

import os
import sys
from pathlib import Path
from typing import NoReturn

import msgspec
from msgspec import Struct

import heliostat
from heliostat.api.kinds import GROUP, KINDS
from heliostat.local.ports import choose_port
from heliostat.local.state import State

REMEMBERED = ("pods", "services", "jobs.batch", *(f"{kind.plural}.{GROUP}" for kind in KINDS.values()))
READY_PROBE_SECONDS = 1  # somebody waits at a terminal; KubeRay asks after 10 s and then every 5


class LocalOptions(Struct, frozen=True, kw_only=True):
    is_ephemeral: bool = False
    port: int = 0
    strict: bool = False
    ready_probe_seconds: int = READY_PROBE_SECONDS
    operator_flags: tuple[str, ...] = ()
    node_flags: tuple[str, ...] = ()


class Orders(Struct, frozen=True, kw_only=True):
    """For the supervisor: command lines, by name those that are kept running, and the state directory's lock."""

    state: str
    lock: int
    kept: dict[str, tuple[str, ...]]
    preparing: tuple[str, ...]
    ending: tuple[str, ...]
    is_ephemeral: bool


def build_orders(state: State, options: LocalOptions, lock: int) -> Orders:
    return Orders(
        state=str(state.path),
        lock=lock,
        kept={
            "control-plane": (*_program("cli"), *_server_arguments(state, options)),
            "operator": (*_program("cli"), *_operator_arguments(state, options)),
            "node": (*_program("cli"), *_node_arguments(state, options)),
        },
        preparing=(*_program("local.preparing"), str(state.kubeconfig)),
        ending=(*_program("local.ending"), str(state.node)),
        is_ephemeral=options.is_ephemeral,
    )


def become_supervisor(orders: Orders) -> NoReturn:
    """In the place of this process, which has become too large for it."""
    os.set_inheritable(orders.lock, True)
    os.execv(sys.executable, build_supervisor_command(orders))  # noqa: S606


def build_supervisor_command(orders: Orders) -> list[str]:
    """Without what a Python environment loads at every start."""
    root = str(Path(heliostat.__file__).parent.parent)
    program = f"import sys; sys.path.insert(0, {root!r}); from heliostat.local.supervisor import main; main()"
    return [sys.executable, "-I", "-S", "-c", program, msgspec.json.encode(orders).decode()]


def _program(module: str) -> tuple[str, ...]:
    return (sys.executable, "-m", f"heliostat.{module}")


def _server_arguments(state: State, options: LocalOptions) -> tuple[str, ...]:
    port = choose_port(state, options.port)
    return (
        "apiserver",
        "--controllers",
        f"--data={state.server}",
        f"--kubeconfig={state.kubeconfig}",
        f"--port={port}",
        f"--node-socket={state.node_socket}",
        f"--history={state.history}",
        f"--history-of={','.join(REMEMBERED)}",
        *(("--memory",) if options.is_ephemeral else ()),
    )


def _operator_arguments(state: State, options: LocalOptions) -> tuple[str, ...]:
    return (
        "operator",
        f"--kubeconfig={state.kubeconfig}",
        "--enable-leader-election=false",
        "--use-kubernetes-proxy",
        "--metrics-addr=127.0.0.1:0",
        "--health-probe-bind-address=127.0.0.1:0",
        f"--ready-probe-seconds={options.ready_probe_seconds}",
        *options.operator_flags,
    )


def _node_arguments(state: State, options: LocalOptions) -> tuple[str, ...]:
    return (
        "node",
        f"--kubeconfig={state.kubeconfig}",
        f"--state={state.node}",
        f"--socket={state.node_socket}",
        *(("--strict",) if options.strict else ()),
        *options.node_flags,
    )
