"""What a plan says of an object that it leaves alone: one of another controller, or one whose spec is refused."""

from heliostat.api.raycluster import ObjectMeta
from heliostat.api.validation.verdict import event_of
from heliostat.kube.problems import Problem
from heliostat.plan.because import Hold
from heliostat.plan.draft import Part, wait_beside


def tell_manager(managed_by: str | None) -> Part:
    message = f"spec.managedBy is {managed_by!r}"
    return wait_beside(Hold.MANAGED_ELSEWHERE, message, "the controller named there is done with it")


def tell_refusal(refusal: Problem, metadata: ObjectMeta) -> Part:
    """Without a reason there is no event: the API server would have refused it."""
    events = (event_of(refusal, metadata.namespace, metadata.name),) if refusal.reason else ()
    return wait_beside(Hold.REFUSED, str(refusal), refusal.fix, events=events)


def describe_refusal(refusal: Problem, metadata: ObjectMeta) -> str:
    """For a status: what the event says, without whom it is about."""
    if not refusal.reason:
        return str(refusal)
    note = event_of(refusal, metadata.namespace, metadata.name).note
    return note.removeprefix(f"{metadata.namespace}/{metadata.name}: ")
