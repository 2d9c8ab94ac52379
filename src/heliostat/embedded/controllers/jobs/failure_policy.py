"""What a Job's Pod failure policy says about one failed Pod: the first rule that matches decides.

Rules: exit codes are those of containers that are over and not 0, init containers after the others; a rule without
requirements matches nothing; without a match a failure counts, as it does without a policy.
"""

from collections.abc import Iterator

from msgspec import Struct

from heliostat.embedded.controllers.views.jobs import FailurePolicy, FailureRule, OnExitCodes
from heliostat.embedded.controllers.views.pods import ContainerStatus, ExitedContainer, Pod

FAIL_JOB, FAIL_INDEX, IGNORE, COUNT = "FailJob", "FailIndex", "Ignore", "Count"
_ACTIONS = frozenset({FAIL_JOB, FAIL_INDEX, IGNORE, COUNT})


class FailureVerdict(Struct, frozen=True):
    action: str = ""  # empty: no rule matched
    message: str = ""  # why the Job fails; with FailJob only

    @property
    def counts(self) -> bool:
        return self.action != IGNORE


NO_RULE = FailureVerdict()


def judge_failure(policy: FailurePolicy | None, pod: Pod) -> FailureVerdict:
    for index, rule in enumerate(policy.rules if policy is not None else ()):
        matched = _match_exit_codes(rule, pod) or _match_conditions(rule, pod)
        if matched and rule.action in _ACTIONS:
            message = f"{matched} matching {rule.action} rule at index {index}" if rule.action == FAIL_JOB else ""
            return FailureVerdict(rule.action, message)
    return NO_RULE


def _match_exit_codes(rule: FailureRule, pod: Pod) -> str:
    """How the failure reads in the Job's message; empty without a match."""
    wanted = rule.on_exit_codes
    for container, exited in _failed_containers(pod) if wanted is not None else ():
        if wanted is not None and _is_wanted(wanted, container.name, exited.exit_code):
            return f"Container {container.name} for pod {_place(pod)} failed with exit code {exited.exit_code}"
    return ""


def _failed_containers(pod: Pod) -> Iterator[tuple[ContainerStatus, ExitedContainer]]:
    for container in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        exited = container.state.terminated
        if exited is not None and exited.exit_code != 0:
            yield container, exited


def _is_wanted(wanted: OnExitCodes, name: str, code: int) -> bool:
    if wanted.container_name not in (None, name):
        return False
    return (wanted.operator == "In" and code in wanted.values) or (
        wanted.operator == "NotIn" and code not in wanted.values
    )


def _match_conditions(rule: FailureRule, pod: Pod) -> str:
    if rule.on_exit_codes is not None or rule.on_pod_conditions is None:
        return ""
    patterns = {(pattern.type, pattern.status) for pattern in rule.on_pod_conditions}
    for condition in pod.status.conditions:
        if (condition.type, condition.status) in patterns:
            return f"Pod {_place(pod)} has condition {condition.type}"
    return ""


def _place(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
