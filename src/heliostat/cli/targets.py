"""Objects as people name them: ``KIND/NAME …`` or ``KIND NAME …``."""

from heliostat.cli.errors import CommandError


def parse_targets(words: list[str]) -> list[tuple[str, str]]:
    """Pairs of a kind's word and a name."""
    if all("/" in word for word in words):
        return [_split(word) for word in words]
    if "/" in "".join(words):
        raise CommandError(f"{' '.join(words)!r} mixes KIND/NAME and KIND NAME; use one of them")
    kind, *names = words
    if not names:
        raise CommandError(f"{kind!r} names no object; write KIND/NAME, such as raycluster/{kind}")
    return [(kind, name) for name in names]


def _split(word: str) -> tuple[str, str]:
    kind, _slash, name = word.partition("/")
    if not kind or not name or "/" in name:
        raise CommandError(f"{word!r} is not KIND/NAME, such as raycluster/demo")
    return kind, name
