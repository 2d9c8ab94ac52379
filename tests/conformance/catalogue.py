"""Every hand-written sequence, by name."""

from conformance.handwritten import (
    access,
    bad_input,
    changes,
    custom,
    deletions,
    lists,
    objects_life,
    patches,
    pods,
    services,
    small_kinds,
    watches,
    workloads,
)
from conformance.model import Sequence

_MODULES = (
    objects_life, deletions, lists, watches, patches, pods, services, workloads, custom, access, small_kinds, bad_input,
    changes,
)  # fmt: skip
HANDWRITTEN: dict[str, Sequence] = {sequence.name: sequence for module in _MODULES for sequence in module.SEQUENCES}
