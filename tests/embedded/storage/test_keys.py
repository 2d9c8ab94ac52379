"""Which scopes an object belongs to."""

import itertools

import pytest

from heliostat.embedded.storage.keys import Key, Scope, scopes_covering

KEYS = [Key("pods", "a", "x"), Key("pods", "a-b", "x"), Key("nodes", "", "x"), Key("pods", "a", "y")]
SCOPES = [Scope(*parts) for parts in itertools.product(("pods", "nodes"), ("", "a", "a-b"), ("", "x", "y"))]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_the_scopes_of_a_key_are_those_that_cover_it_each_once(key: Key) -> None:
    found = scopes_covering(key)
    assert len(found) == len(set(found))
    assert set(found) == {scope for scope in SCOPES if scope.covers(key)}


@pytest.mark.parametrize("scope", SCOPES, ids=repr)
def test_the_bounds_of_a_scope_hold_every_key_it_covers(scope: Scope) -> None:
    low, high = scope.bounds
    for key in KEYS:
        if scope.covers(key):
            assert low <= key.path
            assert high is None or key.path < high
