"""Make a sequence smaller while something about it stays true: drop runs of steps, long ones first."""

from collections.abc import Awaitable, Callable

from conformance.model import Sequence, Step


async def shrink(sequence: Sequence, still: Callable[[Sequence], Awaitable[bool]]) -> Sequence:
    """The smallest found. Each trial has a name of its own, because names are namespaces."""
    steps, trial = list(sequence.steps), 0
    length = len(steps) // 2
    while length:
        start = 0
        while start < len(steps):
            fewer = steps[:start] + steps[start + length :]
            trial += 1
            if fewer and await still(_renamed(sequence, fewer, trial)):
                steps = fewer
            else:
                start += length
        length //= 2
    return _renamed(sequence, steps, trial + 1)


def _renamed(sequence: Sequence, steps: list[Step], trial: int) -> Sequence:
    return Sequence(
        name=f"{sequence.name}-s{trial}",
        steps=tuple(steps),
        alone=sequence.alone,
        keeps_managed_fields=sequence.keeps_managed_fields,
    )
