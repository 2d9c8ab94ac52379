"""What ``heliostat status`` tells of the nodes' own conditions."""

from typing import Any

from heliostat.local.node_conditions import describe_nodes


def node(*conditions: tuple[str, str]) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": type_, "message": message} for type_, message in conditions]}}


def test_our_own_conditions_are_told_once_for_all_nodes() -> None:
    one = node(("heliostat.dev/Isolated", "apart"), ("Ready", "well"), ("heliostat.dev/Outbound", "out"))
    assert describe_nodes([one, one]) == ("apart", "out")


def test_a_node_that_has_not_reported_yet_tells_nothing() -> None:
    assert describe_nodes([{}, {"status": {}}]) == ()
