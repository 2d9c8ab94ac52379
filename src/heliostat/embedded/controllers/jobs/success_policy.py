"""Whether an Indexed Job's success policy is met by the indexes that have succeeded; the first rule that holds decides.

A rule with indexes holds when all of them succeeded, or as many of them as its count says; a rule with a count alone
when so many indexes succeeded. Indexes that cannot be read make a rule hold never.
"""

from heliostat.embedded.controllers.jobs.index_set import IndexSet, parse_indexes
from heliostat.embedded.controllers.views.jobs import SuccessPolicy, SuccessRule


def match_success_policy(policy: SuccessPolicy | None, completions: int, succeeded: IndexSet) -> str:
    """The message of the rule that holds; empty when there is none."""
    if policy is None or not len(succeeded):
        return ""
    for index, rule in enumerate(policy.rules):
        if _holds(rule, completions, succeeded):
            return f"Matched rules at index {index}"
    return ""


def _holds(rule: SuccessRule, completions: int, succeeded: IndexSet) -> bool:
    count = rule.succeeded_count
    if rule.succeeded_indexes is None:
        return count is not None and len(succeeded) >= count
    required = parse_indexes(rule.succeeded_indexes, completions)
    if not len(required):
        return False
    common = succeeded.count_common(required)
    return common == len(required) or (count is not None and common >= count)
