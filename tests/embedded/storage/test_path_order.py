"""The order of paths against the plain sorted list it stands for."""

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.storage import path_order
from heliostat.embedded.storage.path_order import PathOrder

PATHS = st.text("ab/-0", max_size=4)


@given(added=st.lists(PATHS, max_size=60, unique=True), removed=st.sets(PATHS), low=PATHS, high=st.none() | PATHS)
def test_ranges_and_counts_are_those_of_a_sorted_list(
    added: list[str], removed: set[str], low: str, high: str | None
) -> None:
    order = PathOrder()
    for path in added:
        order.add(path)
    for path in removed.intersection(added):
        order.remove(path)
    expected = [path for path in sorted(set(added) - removed) if path >= low and (high is None or path < high)]
    assert list(order.between(low, high)) == expected
    assert order.count_between(low, high) == len(expected)


def test_blocks_stay_short_and_in_order_under_growth_and_decay() -> None:
    order = PathOrder()
    paths = [f"ns/{number * 7919 % 10007:05}" for number in range(10007)]
    for path in paths:
        order.add(path)
    assert max(map(len, order._blocks)) <= path_order.BLOCK_MAX
    assert list(order.between("", None)) == sorted(paths)
    assert order.count_between("ns/00100", "ns/05000") == 4900
    for path in paths[1:]:
        order.remove(path)
    assert list(order.between("", None)) == paths[:1]
    assert len(order._blocks) == 1


def test_a_range_inside_one_block_is_cut_at_both_ends() -> None:
    order = PathOrder()
    paths = [f"{number:03}" for number in range(300)]
    for path in paths:
        order.add(path)
    low, high = bisect_left(paths, "050"), bisect_left(paths, "060")
    assert list(order.between("050", "060")) == paths[low:high]
