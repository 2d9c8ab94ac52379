"""By which settings a command judges documents: those of the operator that will look at them.

The order: the operator's flags where some are given; what the local operator was started with, where the cluster is
one of this machine; else its environment variables and defaults, which may differ from those of an operator elsewhere.
"""

import argparse
import os

from msgspec import Struct, structs

from heliostat.api.settings import Settings
from heliostat.cli.errors import CommandError
from heliostat.cli.inputs import read_config
from heliostat.cli.which_cluster import find_local_state
from heliostat.local.operator_settings import read_operator_settings
from heliostat.local.state import State
from heliostat.operator.flags import OperatorFlags, build_settings, parse_flags
from heliostat.operator.usage_error import UsageError


class GivenSettings(Struct, frozen=True):
    """What the command line and the environment say."""

    settings: Settings
    has_flags: bool

    def on(self, local: State | None) -> Settings:
        """For the cluster that lives there, or for one elsewhere."""
        own = None if self.has_flags or local is None else read_operator_settings(local)
        return own or self.settings


def parse_on_cluster(parser: argparse.ArgumentParser, arguments: list[str]) -> tuple[argparse.Namespace, GivenSettings]:
    """The command's own options, and the operator's flags among them; ``--kubeconfig`` is the command's here."""
    try:
        flags, own = parse_flags(arguments)
        settings = build_settings(flags, os.environ, read_config(flags.config))
    except UsageError as error:
        raise CommandError(str(error)) from None
    own = [f"--kubeconfig={flags.kubeconfig}", *own] if flags.kubeconfig else own
    has_flags = structs.replace(flags, kubeconfig="") != OperatorFlags()
    return parser.parse_args(own), GivenSettings(settings, has_flags)


def settings_of_cluster(options: argparse.Namespace, given: GivenSettings) -> Settings:
    """Before anything is asked of it."""
    return given.on(find_local_state(options.kubeconfig))
