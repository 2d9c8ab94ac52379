# ruff: noqa: T201 - what commands say
"""What a command says about cases: which differ, how, and how long it took."""

SHOWN = 5  # differences of one case


def tell(what: str, verdicts: dict[str, list[str]], seconds: float) -> int:
    """How many differ."""
    differing = {name: lines for name, lines in verdicts.items() if lines}
    for name, lines in differing.items():
        print(f"{name}:", *lines[:SHOWN], sep="\n  ")
    print(f"{what}: {len(differing)} differ, {seconds:.0f} s", flush=True)
    return len(differing)
