"""``heliostat up --merge-kubeconfig``: the local cluster as a context for kubectl; ``heliostat down`` takes it out."""

import argparse
import os
import sys

from heliostat.cli.errors import CommandError
from heliostat.local.merged_kubeconfig import MergeError, merge_kubeconfig, remove_merged
from heliostat.local.state import State

MERGE = "--merge-kubeconfig"


def add_merge_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        MERGE,
        action="store_true",
        help="add a context for the cluster to your own kubeconfig (the first file of KUBECONFIG, or ~/.kube/config);"
        " heliostat down takes it out again",
    )


def check_merge(options: argparse.Namespace) -> None:
    if options.merge_kubeconfig and options.foreground:
        raise CommandError(f"{MERGE} is for a cluster in the background; leave out --foreground")


def merge_if_asked(state: State, options: argparse.Namespace) -> None:
    if not options.merge_kubeconfig:
        return
    try:
        merged = merge_kubeconfig(state, os.environ)
    except MergeError as error:
        raise CommandError(f"it is up, but {error}", 1) from None
    print(f"context {merged.name} is in {merged.file}: kubectl --context {merged.name} get pods")


def forget_merged(state: State) -> None:
    """What went down is gone from the user's kubeconfig too; where that fails, it is said and no more."""
    try:
        merged = remove_merged(state)
    except MergeError as error:
        print(f"the context stays in your kubeconfig: {error}", file=sys.stderr)
        return
    if merged is not None:
        print(f"context {merged.name} is no longer in {merged.file}")
