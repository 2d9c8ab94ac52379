"""CEL rules of custom resources: compiled when they are first needed, checked on every write."""

from collections.abc import Iterator
from functools import cached_property

from heliostat.embedded.cel import CompiledRules, check_rules, compile_rules
from heliostat.embedded.server.errors import Cause
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.schema import JsonSchema


class CustomRules:
    """The rules of one version of a CustomResourceDefinition."""

    def __init__(self, schema: JsonSchema, at: str) -> None:
        self._schema = schema
        self._at = at  # where the schema stands in the definition, for messages about it

    @cached_property
    def compiled(self) -> CompiledRules:
        return compile_rules(self._schema, self._at)

    def definition_causes(self) -> Iterator[Cause]:
        """Why the definition itself is refused."""
        return (Cause(problem.reason, problem.problem, problem.field) for problem in self.compiled.problems)

    def object_causes(self, new: JsonObject, old: JsonObject | None) -> Iterator[Cause]:
        """Why an object is refused. A rule that was broken before, by the same value, is no reason."""
        if self.compiled.root is None:
            return iter(())
        problems = check_rules(self.compiled, new, old)
        return (Cause(p.reason, p.problem, p.field) for p in problems if p.severity == "error")
