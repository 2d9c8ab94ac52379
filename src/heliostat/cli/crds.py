"""``heliostat crds``: the CustomResourceDefinitions, ready for ``kubectl apply --server-side -f -``."""

import argparse

from heliostat.api.crds import all_crds
from heliostat.cli.render import print_objects


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="heliostat crds",
        description="Print the four CustomResourceDefinitions. They are too large for a client-side apply: use"
        " heliostat crds | kubectl apply --server-side -f -",
    )
    parser.add_argument(
        "--slim",
        action="store_true",
        help="leave Pod templates and other core objects open: about 30 times smaller, but typing mistakes inside a"
        " template are then found only when the Pod is created (heliostat validate still finds them)",
    )
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help="default: yaml")
    options = parser.parse_args(arguments)
    print_objects(all_crds(slim=options.slim), options.output)
    return 0
