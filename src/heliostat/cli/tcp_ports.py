"""A TCP port as a person gives it. The system takes some numbers beyond for another port, and refuses others later."""

import argparse

_LAST_PORT = 65_535


def parse_port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no TCP port; give 1 to {_LAST_PORT}, or 0 for any free one")
    return int(text)
