"""All scenarios, by group: a group is one file of recordings."""

from conformance.controllers.model import Scenario
from conformance.controllers.scenarios.accounts import ACCOUNTS
from conformance.controllers.scenarios.deployments import DEPLOYMENTS
from conformance.controllers.scenarios.garbage import GARBAGE
from conformance.controllers.scenarios.jobs import JOBS
from conformance.controllers.scenarios.namespaces import NAMESPACES
from conformance.controllers.scenarios.pod_garbage import POD_GARBAGE
from conformance.controllers.scenarios.scheduling import SCHEDULING
from conformance.controllers.scenarios.services import SERVICES
from conformance.controllers.scenarios.volumes import VOLUMES

GROUPS: dict[str, tuple[Scenario, ...]] = {
    "garbage": GARBAGE,
    "namespaces": NAMESPACES,
    "jobs": JOBS,
    "deployments": DEPLOYMENTS,
    "services": SERVICES,
    "accounts": ACCOUNTS,
    "volumes": VOLUMES,
    "scheduling": SCHEDULING,
    "pod_garbage": POD_GARBAGE,
}
SCENARIOS = {scenario.name: scenario for group in GROUPS.values() for scenario in group}
