"""CEL rules of CustomResourceDefinitions (``x-kubernetes-validations``): compiled once, checked at every write.

``compile_rules`` walks a schema and says what is wrong with its rules; ``check_rules`` which ones an object breaks.
"""

from heliostat.embedded.cel.check import check_rules
from heliostat.embedded.cel.errors import CelError
from heliostat.embedded.cel.places import RuleProblem
from heliostat.embedded.cel.rules import CompiledRules, compile_rules

__all__ = ["CelError", "CompiledRules", "RuleProblem", "check_rules", "compile_rules"]
