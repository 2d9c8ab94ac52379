"""Laws over arbitrary rules and objects: only a ``CelError`` comes out of a rule, nothing at all out of a check."""

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from embedded.cel.evaluation import CLUSTER, HEAD, compile_for, type_of_schema
from embedded.cel.objects import resource, rule, with_rules
from heliostat.embedded.cel import CelError, check_rules, compile_rules
from heliostat.embedded.cel.budgets import RULE_LIMIT
from heliostat.embedded.cel.checker import Checked
from heliostat.embedded.cel.estimate import estimate_cost
from heliostat.embedded.cel.frames import COST
from heliostat.embedded.cel.syntax import Call
from heliostat.kube.jsontree import copy_tree

WORDS = [
    *("self", "oldSelf", "x", "y", "true", "false", "null", "1", "2u", "-3", "1.5", "'a'", "''", "b'x'", "r'\\d'"),
    *(
        "self.name",
        "self.replicas",
        "self.labels",
        "self.ports",
        "self.tags",
        "self.numbers",
        "self.target",
        "self.ttl",
    ),
    *(
        "self.since",
        "self.blob",
        "self.shares",
        "self.delays",
        "self.aliases",
        "self.spec",
        "self.open",
        "self.missing",
    ),
    *("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "!", "?", ":", "in", ".", ".?", ","),
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "[?",
        "has(",
        "size(",
        "dyn(",
        "type(",
        "int(",
        "string(",
        "duration(",
        "optional.of(",
    ),
    *(".all(x, ", ".exists(x, ", ".exists_one(x, ", ".map(x, ", ".filter(x, ", ".all(i, x, ", ".transformMap(i, x, "),
    *(".size()", ".startsWith(", ".matches(", ".split(", ".join(", ".format([", ".sum()", ".min()", ".isSorted()"),
    *(".orValue(", ".optMap(x, ", ".hasValue()", ".value()", ".indexOf(", "quantity(", "ip(", "url(", "sets.contains("),
]
rule_texts = st.text(max_size=30) | st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


def expressions() -> st.SearchStrategy[str]:
    """Texts that are nearly right: operators and macros around values of all kinds."""
    values = st.sampled_from([word for word in WORDS if word[0].isalnum() or word[:1] in "'-br"][:30])
    return st.recursive(values, _combined, max_leaves=8)


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%", "==", "<", ">=", "&&", "||", "in"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        st.tuples(
            inner, st.sampled_from([".size()", ".hasValue()", ".sum()", ".min()", ".isSorted()", "[0]", "[?0]"])
        ).map("".join),
        st.tuples(
            st.sampled_from(["size", "dyn", "type", "int", "string", "double", "optional.of", "!", "-"]), inner
        ).map(lambda parts: f"{parts[0]}({parts[1]})"),
        st.tuples(inner, st.sampled_from(["all", "exists", "exists_one", "map", "filter"]), inner).map(
            lambda parts: f"{parts[0]}.{parts[1]}(x, {parts[2]})"
        ),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} ? {parts[1]} : {parts[2]})"),
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.tuples(inner, inner).map(lambda parts: f"{{{parts[0]}: {parts[1]}}}"),
    )


scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=6)
)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*CLUSTER["properties"], "port", "x"]), inner, max_size=5)
    ),
    max_leaves=15,
)
objects = st.fixed_dictionaries({}, optional=dict.fromkeys(CLUSTER["properties"], trees))

RULES = [
    "self.name.size() > 3 && self.replicas > 1",
    "self.ports.all(p, p.port > 0 && (!has(p.name) || p.name.matches('^[a-z]+$')))",
    "self.labels.all(k, self.labels[k] != '') || self.tags.exists(t, t in ['a', 'b'])",
    "self.ttl > duration('1s') && self.since < timestamp('2030-01-01T00:00:00Z') && self.blob.size() > 0",
    "self.shares.sum() < 5.0 && self.numbers.isSorted() && self.delays.all(d, d < duration('1h'))",
    "type(self.target) == int ? self.target < 5 : self.target.endsWith('%')",
    "self.aliases.exists_one(a, a == 'x') || self.spec == oldSelf.spec || self.open == oldSelf.open",
    "'%s'.format([self.name]) != self.tags.join(',') && self.?spec.?size.orValue(1) == 1",
    "self == oldSelf && self.ports + self.ports == self.ports && self.tags == oldSelf.tags",
    "dyn(self).name == 'x' || [dyn(self.delays), dyn(self.ports)].size() > 3",
]


COMPILED = compile_rules(resource(with_rules(CLUSTER, *map(rule, RULES))))


@given(rule_texts)
def test_any_text_is_a_rule_or_refused_with_a_reason(text: str) -> None:
    compiled = compile_rules(resource(with_rules(CLUSTER, rule(text))))
    assert all(problem.problem and problem.fix for problem in compiled.problems)
    list(check_rules(compiled, {"spec": HEAD}, {"spec": HEAD}))


@given(expressions() | rule_texts)
def test_only_cel_errors_come_out_of_an_expression(text: str) -> None:
    try:
        expression = compile_for(text, CLUSTER)
    except CelError:
        return
    frame = expression.program.frame(HEAD, HEAD, RULE_LIMIT)
    try:
        expression.program.run(frame)
    except CelError:
        return
    assert frame[COST] >= 0


def compares_an_object(checked: Checked) -> bool:
    """How many fields it has counts when it is compared, and not in the estimate: kube-apiserver has both so."""
    calls = ((node, found[0].function) for node, found in checked.overloads.items() if isinstance(node, Call))
    kinds = (checked.types[arg] for node, function in calls if function in ("_==_", "_!=_") for arg in node.args)
    return any(kind.data is not None and kind.data.is_object for kind in kinds)


@given(expressions())
def test_no_evaluation_costs_more_than_the_estimate(text: str) -> None:
    try:
        expression = compile_for(f"[{text}].size() == 1", CLUSTER)
        frame = expression.program.frame(HEAD, HEAD, RULE_LIMIT)
        expression.program.run(frame)
    except CelError:
        return
    assume(not compares_an_object(expression.checked))
    most = estimate_cost(expression.checked, type_of_schema(CLUSTER)).most
    slack = 3 * text.count("[") + 3 * text.count(".")  # elements of what a rule makes itself are not in the estimate
    assert frame[COST] <= most + slack


@settings(max_examples=40)
@given(objects | trees, objects | st.none())
def test_checking_any_object_gives_problems_and_never_raises(new: Any, old: Any) -> None:
    before = copy_tree(new)
    problems = list(check_rules(COMPILED, {"spec": new}, None if old is None else {"spec": old}))
    assert all(problem.field.startswith("spec") and problem.fix for problem in problems)
    assert new == before


@settings(max_examples=40)
@given(trees, trees)
def test_the_root_may_be_anything(new: Any, old: Any) -> None:
    list(check_rules(COMPILED, new, old))


@settings(max_examples=40)
@given(objects)
def test_an_unchanged_object_gets_no_worse_by_an_update(tree: Any) -> None:
    created = {(problem.field, problem.problem) for problem in check_rules(COMPILED, {"spec": tree})}
    updated = [
        problem for problem in check_rules(COMPILED, {"spec": tree}, {"spec": tree}) if "oldSelf" not in problem.fix
    ]
    assert {(problem.field, problem.problem) for problem in updated} <= created
