"""The flags for what image names stand for: ``heliostat run`` and ``up`` take them and hand them on to ``node``."""

import argparse
from pathlib import Path

from heliostat.embedded.doors.images import ImageTableError
from heliostat.local.images import load_images


def add_image_flags(parser: argparse.ArgumentParser, when: str = "") -> None:
    """``when`` they count, for the help."""
    parser.add_argument(
        "--images",
        type=parse_table,
        metavar="FILE",
        help=f"{when}what image names stand for, before our own table (~/.config/heliostat/images.toml)",
    )
    parser.add_argument(
        "--exact-images",
        action="store_true",
        help=f"{when}build the Ray that an image's tag names, with uv, and keep it for the next time",
    )


def build_image_flags(options: argparse.Namespace) -> tuple[str, ...]:
    """The same, to be handed on to a process in another directory."""
    table = (f"--images={options.images}",) if options.images is not None else ()
    return (*table, *(("--exact-images",) if options.exact_images else ()))


def parse_table(text: str) -> Path:
    """Where it is, once it is known to be good."""
    path = Path(text).absolute()
    try:
        load_images(path)
    except ImageTableError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return path
