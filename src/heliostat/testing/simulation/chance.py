"""Chance that can be repeated: everything random in a simulated world comes from a stream of its seed."""

import random


def stream(seed: int, name: str) -> random.Random:
    """Chance of its own for each name: a draw in one stream moves nothing in another."""
    return random.Random(f"{seed}/{name}")  # noqa: S311  repeatable is the point
