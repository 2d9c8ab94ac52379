"""Which Pods are the Job's: it adopts those without a controller that it selects, and lets go those it does not select.

An adopted Pod gets the finalizer together with its owner, a released one loses both in one write. Before the first
adoption the Job itself is confirmed: one that is gone must not get Pods, they would be collected with it.
"""

from collections.abc import Iterable

from msgspec import structs

from heliostat.embedded.controllers.adoption import Claim, Owner, claim_children
from heliostat.embedded.controllers.jobs.actions import job_ref
from heliostat.embedded.controllers.jobs.pod_facts import TRACKING_FINALIZER
from heliostat.embedded.controllers.views.jobs import JOB, Job
from heliostat.embedded.controllers.views.pods import POD, Pod
from heliostat.kube.plan import Patch, Stage
from heliostat.kube.selectors import Selector


def claim_pods(job: Job, selector: Selector, pods: Iterable[Pod]) -> Claim[Pod]:
    by_name = {pod.metadata.name: pod for pod in pods}
    claim = claim_children(Owner(JOB, job.metadata, selector), by_name.values(), POD)
    changes = tuple(_with_finalizer(change, by_name[change.ref.name]) for change in claim.changes)
    return Claim(claim.mine, changes)


def _with_finalizer(change: Patch, pod: Pod) -> Patch:
    others = [finalizer for finalizer in pod.metadata.finalizers if finalizer != TRACKING_FINALIZER]
    is_adoption = pod.metadata.controller is None
    finalizers = [*others, TRACKING_FINALIZER] if is_adoption else others
    metadata = {**change.changes["metadata"], "finalizers": finalizers or None}
    return structs.replace(change, changes={"metadata": metadata})


def build_claim_stages(job: Job, changes: tuple[Patch, ...]) -> tuple[Stage, ...]:
    metadata = job.metadata
    because = "only a Job that is still there may take Pods"
    confirm = Patch(job_ref(job), metadata.uid, metadata.resource_version, {}, because)
    return Stage("confirm", (confirm,)), Stage("claim", changes, needs=("confirm",))
