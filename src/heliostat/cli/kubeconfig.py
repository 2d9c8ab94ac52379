"""``heliostat kubeconfig``: where the kubeconfig of the local cluster is, for kubectl and every other client."""

import argparse
import shlex
import sys
from pathlib import Path

from heliostat.cli.errors import CommandError
from heliostat.local.state import State, default_state


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="heliostat kubeconfig",
        description='Print where the kubeconfig of the local cluster is: export KUBECONFIG="$(heliostat kubeconfig)".',
    )
    parser.add_argument("--export", action="store_true", help='print a line for the shell: eval "$(heliostat …)"')
    parser.add_argument("--state", type=Path, help="the state directory (HELIOSTAT_STATE or ~/.local/state/heliostat)")
    options = parser.parse_args(arguments)
    state = State((options.state or default_state()).absolute())
    if not state.kubeconfig.exists():
        raise CommandError(f"there is no local cluster in {state.path}; heliostat up starts one", 1)
    if not state.is_locked():
        print("the local cluster is down; heliostat up starts it again", file=sys.stderr)
    print(f"export KUBECONFIG={shlex.quote(str(state.kubeconfig))}" if options.export else state.kubeconfig)
    return 0
