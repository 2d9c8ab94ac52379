"""What evaluating costs, and what it can cost at most: the figures of the API server.

Rows are (expression about the cluster, cost). They decide which rules are admitted and which evaluations are stopped.
"""

import pytest

from embedded.cel.evaluation import cost_of, estimate_of

COSTS: list[tuple[str, int]] = [
    ("1 + 2", 1),
    ("self.name == 'ray-head'", 3),
    ("has(self.name)", 1),
    ("has(self.spec.size)", 2),
    ("self.ports[0].port", 4),
    ("self.ports[self.replicas - 2].port", 7),
    ("self.paused ? self.name : self.missing", 3),
    ("self.paused && self.paused", 4),
    ("self.paused || self.paused", 2),
    ("self.name in ['a', 'b']", 2),
    ("self.name in [self.namespace]", 15),
    ("'a' in self.tags", 4),
    ("self.numbers.all(x, x > 0)", 18),
    ("self.numbers.all(x, false)", 8),
    ("self.numbers.exists(x, x > 2)", 21),
    ("self.numbers.exists(x, true)", 10),
    ("self.numbers.exists_one(x, x > 2)", 12),
    ("self.numbers.map(x, x + 1)", 45),
    ("self.numbers.map(x, 1)", 9),
    ("self.numbers.map(x, x > 1, x + 1)", 37),
    ("self.numbers.filter(x, x > 1)", 35),
    ("self.numbers.all(i, x, x > i)", 21),
    ("self.numbers.transformList(i, x, x + i)", 48),
    ("self.numbers.transformMap(i, x, x + i)", 21),
    ("self.numbers.transformMapEntry(i, x, {x: i})", 105),
    ("self.?missing", 1),
    ("self.?name.orValue('x')", 2),
    ("optional.of(self.name).optMap(x, x + 'a')", 11),
    ("[self.name]", 12),
    ("['a', 'b']", 0),
    ("{'a': self.name}.a", 34),
    ("duration('1s')", 0),
    ("quantity('1')", 1),
    ("self.numbers.sum()", 5),
    ("self.name.split('-')[0]", 6),
    ("self.name.matches('^r.*')", 3),
    ("self.name.find('[a-z]+')", 4),
    ("'%s'.format([self.name])", 13),
    ("sets.contains(self.numbers, [1])", 6),
    ("format.dns1123Label().validate(self.name).hasValue()", 12),
    ("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", 6),
    ("self.ports.all(a, self.ports.exists_one(b, a.port == b.port))", 41),
]

ESTIMATES: list[tuple[str, int]] = [
    ("self.name == 'ray-head'", 3),
    ("self.name == self.name", 30),
    ("self.replicas == 3", 2),
    ("self.name.startsWith('abcdefghijk')", 4),
    ("self.name.matches('a+b')", 28),
    ("self.name.contains('abc')", 28),
    ("self.namespace == self.name", 30),
    ("self.tags.all(t, t == 'abc')", 28),
    ("self.tags.all(t, self.tags.exists(u, t == u))", 358),
    ("self.tags.filter(t, t.startsWith('a')).size() < 3", 90),
    ("self.tags.map(t, t + t).join(',') == ''", 1844674407370955412),
    ("self.labels.all(k, self.labels[k].size() < 3)", 93),
    ("self.labels.all(k, v, v == k)", 53),
    ("self.ports.exists_one(p, p.port == 80 && p.name.size() > 2)", 68),
    ("self.name.replace('a', 'bcd').size() > 1", 56),
    ("self.name.split('-').all(x, x == 'a')", 1079),
    ("self.numbers.sum() > 3", 23),
    ("self.tags.isSorted()", 42),
    ("sets.contains(self.tags, ['a', 'b'])", 23),
    ("self.target == self.name", 30),
    ("self.ttl == duration('1s')", 4),
    ("self.blob == b'abc'", 3),
    ("format.dns1123Label().validate(self.name).hasValue()", 836),
    ("optional.of(self.name).optMap(n, n + 'x').orValue('') == self.name", 1844674407370955313),
    ("[self.name, 'abc'].all(x, x == 'a')", 21),
    ("oldSelf.ports == self.ports", 5),
]


@pytest.mark.parametrize(("text", "cost"), COSTS, ids=str)
def test_evaluating_costs_what_it_costs_the_api_server(text: str, cost: int) -> None:
    assert cost_of(text) == cost


@pytest.mark.parametrize(("text", "cost"), ESTIMATES, ids=str)
def test_the_estimate_is_that_of_the_api_server(text: str, cost: int) -> None:
    assert estimate_of(text) == cost


def test_without_limits_in_the_schema_there_is_none_to_the_estimate() -> None:
    assert estimate_of("self.delays.all(d, self.delays.all(e, d == e))") > 10**12
