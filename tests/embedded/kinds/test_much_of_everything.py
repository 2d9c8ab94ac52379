"""Long lists in one object: work that grows with their length and not with its square."""

from collections.abc import Callable, Iterable
from time import process_time
from typing import Any

import pytest

from heliostat.embedded.kinds.cautions.pods import pod_cautions
from heliostat.embedded.kinds.pods.scheduling_validation import spread_causes
from heliostat.embedded.server.custom.definition_validation import check_definition

MANY = 6000


def spread() -> Iterable[object]:
    keys = [{"topologyKey": f"k{number}", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"} for number in range(MANY)]
    return spread_causes(keys, "spec")


def projected() -> Iterable[object]:
    items = [{"key": "k", "path": f"f{number}"} for number in range(MANY)]
    volume = {"name": "v", "projected": {"sources": [{"configMap": {"name": "c", "items": items}}]}}
    return pod_cautions({"metadata": {}, "spec": {"volumes": [volume], "containers": []}})


def versions() -> Iterable[object]:
    schema = {"openAPIV3Schema": {"type": "object"}}
    made: list[dict[str, Any]] = [{"name": f"v{number}", "served": True, "schema": schema} for number in range(1500)]
    made[0]["storage"] = True
    names = {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"}
    spec = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": made}
    check_definition({"metadata": {"name": "foos.example.org"}, "spec": spec}, None)
    return ()


@pytest.mark.parametrize("judge", [spread, projected, versions])
def test_a_long_list_is_judged_in_a_moment(judge: Callable[[], Iterable[object]]) -> None:
    begun = process_time()
    assert list(judge()) == []
    assert process_time() - begun < 2.5
