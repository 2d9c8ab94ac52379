"""Which cluster a command means. Nothing is asked here, and nothing imported that could: validate starts with it.

The order: ``--kubeconfig`` or ``--state``; ``KUBECONFIG``; the local one that ``heliostat up`` started, while it is up;
the cluster that this runs in; ``~/.kube/config``.
"""

import argparse
import os
from pathlib import Path

from heliostat.local.state import State, default_state, kubeconfig_of

_WHICH = (
    "which cluster: --kubeconfig or --state, else KUBECONFIG, else the local one of heliostat up while it is up, else"
    " the cluster that this runs in, else ~/.kube/config; -v says which it was"
)


def add_cluster_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--namespace", default="", help="the namespace (the one of the kubeconfig, or default)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--kubeconfig", type=Path, metavar="FILE", help="how to reach the cluster")
    where.add_argument(
        "--state",
        dest="kubeconfig",
        type=_kubeconfig_in,
        metavar="DIR",
        help="the local cluster that lives in this state directory (HELIOSTAT_STATE)",
    )
    parser.add_argument("--context", default="", help="the context of the kubeconfig (its current one)")
    parser.add_argument("-v", "--verbose", action="store_true", help="say which cluster it is, on standard error")
    parser.epilog = f"{parser.epilog}\n{_WHICH}" if parser.epilog else _WHICH


def _kubeconfig_in(state: str) -> Path:
    found = kubeconfig_of(Path(state).expanduser().absolute())
    if not found.exists():
        fix = f"heliostat up --state {state} starts one"
        raise argparse.ArgumentTypeError(f"there is no local cluster in {state}; {fix}")
    return found


def find_kubeconfig(named: Path | None) -> Path | None:
    """None: where every client looks."""
    if named is not None or os.environ.get("KUBECONFIG"):
        return named
    return find_local_kubeconfig()


def find_local_kubeconfig() -> Path | None:
    """That of ``heliostat up``, while it is up."""
    state = State(default_state())
    return state.kubeconfig if state.is_locked() and state.kubeconfig.exists() else None


def find_local_state(named: Path | None) -> State | None:
    """The state directory that the kubeconfig in use lies in, while a supervisor lives there."""
    kubeconfig = find_kubeconfig(named) or Path(os.environ.get("KUBECONFIG") or "nowhere")
    state = State(kubeconfig.absolute().parent)
    return state if kubeconfig.name == state.kubeconfig.name and state.is_locked() else None
