"""What has to be known from outside Kubernetes to decide about a RayService, and so is asked again and again."""

from collections.abc import Iterator

from heliostat.api.settings import Settings
from heliostat.api.validation.service import is_incremental_upgrade
from heliostat.plan.rayservice.answers import AskProxy, AskServe
from heliostat.plan.rayservice.head_label import find_proxy_question
from heliostat.plan.rayservice.observed import ObservedService
from heliostat.plan.rayservice.serving import find_question
from heliostat.plan.rayservice.status import SUSPENDED, SUSPENDING, is_true


def list_questions(observed: ObservedService, settings: Settings) -> tuple[AskServe | AskProxy, ...]:
    """None while the service goes, or rests."""
    status = observed.status
    is_resting = is_true(status, SUSPENDING) or is_true(status, SUSPENDED)
    if observed.service.metadata.deletion_timestamp or is_resting:
        return ()
    return (*_ask_serve(observed, settings), *_ask_proxies(observed))


def _ask_serve(observed: ObservedService, settings: Settings) -> Iterator[AskServe]:
    """Of the pending cluster while there is one, else of the active one; of both where they share the requests."""
    is_shared = is_incremental_upgrade(observed.service.spec, settings)
    asked = [observed.find_pending()] if observed.pending_name else [observed.find_active()]
    for cluster in [observed.find_active(), observed.find_pending()] if is_shared else asked:
        question = find_question(observed, cluster, settings) if isinstance(cluster, dict) else None
        if question is not None:
            yield question


def _ask_proxies(observed: ObservedService) -> Iterator[AskProxy]:
    for cluster in (observed.find_active(), observed.find_pending()):
        question = find_proxy_question(observed, cluster) if isinstance(cluster, dict) else None
        if question is not None:
            yield question
