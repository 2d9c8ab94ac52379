from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.suffixes import derive_suffix


@given(st.lists(st.text(), max_size=4))
def test_a_suffix_is_five_characters_of_the_alphabet_and_always_the_same(facts: list[str]) -> None:
    suffix = derive_suffix(*facts)
    assert len(suffix) == 5
    assert set(suffix) <= set("bcdfghjklmnpqrstvwxz2456789")
    assert derive_suffix(*facts) == suffix


def test_different_facts_give_different_suffixes_and_boundaries_count() -> None:
    assert len({derive_suffix("uid", "group", str(index)) for index in range(1000)}) > 990
    assert derive_suffix("ab", "c") != derive_suffix("a", "bc")
