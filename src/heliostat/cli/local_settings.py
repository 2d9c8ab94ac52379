"""The settings of the local operator: of the one that is up, or of the one that these options would start."""

import argparse
import os
from pathlib import Path

from heliostat.api.settings import Settings
from heliostat.cli.local_operator import build_local_operator_flags
from heliostat.local.operator_settings import read_operator_settings
from heliostat.local.state import State
from heliostat.operator.configuration import build_process, parse_process_flags


def build_local_settings(options: argparse.Namespace) -> Settings:
    """Those of the operator that ``heliostat up`` starts with these options."""
    flags = (*build_local_operator_flags(options), f"--ready-probe-seconds={options.ready_probe_seconds}")
    return build_process(parse_process_flags(flags), os.environ).settings


def settings_of_run(state: Path, options: argparse.Namespace) -> Settings:
    """Of the operator that is up, else of the one that these options would start."""
    local = State(state.absolute())
    own = read_operator_settings(local) if local.is_locked() else None
    return own or build_local_settings(options)
