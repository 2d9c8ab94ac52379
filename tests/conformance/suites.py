"""Which sequences are kept with their answers."""

from conformance.catalogue import HANDWRITTEN
from conformance.generator import generate_many
from conformance.model import Sequence

KEPT_SEED, KEPT_COUNT = 1, 300
BATCH = 30  # generated sequences that are run together on one server


def kept_suites() -> dict[str, list[Sequence]]:
    return {"handwritten": list(HANDWRITTEN.values()), "generated": generate_many(KEPT_SEED, KEPT_COUNT)}
