"""``heliostat down``: stops what ``heliostat up`` started, and everything that ran in Pods."""

import argparse
import sys
from pathlib import Path

from heliostat.cli.errors import CommandError
from heliostat.cli.merging import forget_merged
from heliostat.local.state import State, default_state
from heliostat.local.stopping import StopError, stop_all
from heliostat.local.view import View, open_view


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="heliostat down", description="Stop the local Kubernetes and everything that runs in its Pods."
    )
    parser.add_argument("--state", type=Path, help="the state directory (HELIOSTAT_STATE or ~/.local/state/heliostat)")
    parser.add_argument("--purge", action="store_true", help="also remove the state directory: objects, volumes, logs")
    options = parser.parse_args(arguments)
    state = State((options.state or default_state()).absolute())
    was_up = stop(state, open_view(sys.stderr))
    forget_merged(state)
    if options.purge and state.path.exists():
        state.remove()
    print(("down" if was_up else "it was not up") + (", and nothing is kept" if options.purge else ""))
    return 0


def stop(state: State, view: View) -> bool:
    """Whether there was anything to stop. Raises CommandError."""
    if state.is_locked():
        view.show(("… stopping the local Kubernetes and what runs in its Pods",))
    try:
        return stop_all(state, lambda rest: view.show((f"… stopping the local Kubernetes; {rest}",)))
    except StopError as error:
        raise CommandError(str(error), 1) from None
    finally:
        view.clear()
