"""Serve on one cluster: what it runs, whether that is what the spec asks for, and what to send (rayservice.md §8).

The configuration is sent only while Serve's own report differs from it; what was sent is remembered for one purpose
alone: where Serve took the configuration and describes it in its own words, or refused it, it is not sent again at
once. Applications count as ready only when the report is of the configuration that the spec asks for now.
Differs from KubeRay: rayservice-config-by-report.
"""

from enum import StrEnum
from typing import Any

from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.settings import Settings
from heliostat.desired.names import head_service_name
from heliostat.desired.rayjob.head_service import find_dashboard_url
from heliostat.desired.rayjob.request import token_secret
from heliostat.desired.rayservice.serve_config import digest_config, list_applications, read_serve_config
from heliostat.desired.slots import Impossible
from heliostat.kube.conditions import is_condition_true
from heliostat.kube.facts import Fact, Unknown
from heliostat.kube.lookups import SERVICE
from heliostat.kube.plan import Effect
from heliostat.kube.pods import is_ready
from heliostat.plan.draft import NOTHING, Part, wait_beside
from heliostat.plan.observing import read_cluster_spec
from heliostat.plan.rayservice.answers import RUNNING, AskServe, ServeInfo, applications_key
from heliostat.plan.rayservice.observed import Look, ObservedService, Sent
from heliostat.plan.rayservice.reasons import Because, Hold
from heliostat.plan.rayservice.reports import applications_impossible, report_applications, report_capacity
from heliostat.plan.rayservice.same_config import is_same_application

CONFIGURE = "serve-configure"
CONFIGURE_SECONDS = 10.0
TARGET_CAPACITY = "target_capacity"
BROKEN = frozenset({"UNHEALTHY", "DEPLOY_FAILED"})
SEND_AGAIN_AFTER = 30.0  # seconds, when Serve took a configuration and still reports another one
REFUSED_AGAIN_AFTER = 2.0  # seconds, as KubeRay does: the same words are mostly refused again


class Health(StrEnum):
    """How far the applications of a cluster are."""

    STARTING = "the head is not ready"
    UNKNOWN = "Serve has not answered"
    DEPLOYING = "not all applications run as the spec asks for"
    READY = "all applications run as the spec asks for"


class Order(Struct, frozen=True):
    """What a cluster is to run beside ``spec.serveConfigV2``.

    ``capacity`` is its share in percent during an incremental upgrade; None: as the configuration says. With
    ``keeps_config`` it goes on with what it runs: only its capacity changes. ``is_shared``: with another cluster.
    """

    capacity: int | None = None
    keeps_config: bool = False
    is_shared: bool = False


PLAIN = Order()


class ServeSight(Struct, frozen=True):
    """``applications`` is None while it is not known what Serve runs: then what the status shows stays."""

    health: Health
    part: Part = NOTHING
    applications: JsonObject | None = None

    @classmethod
    def nothing(cls) -> "ServeSight":
        """Of a cluster that is not there, or not asked."""
        return cls(Health.STARTING, NOTHING, {})

    @property
    def is_ready(self) -> bool:
        return self.health is Health.READY

    @property
    def is_broken(self) -> bool:
        """It does not serve, and waiting alone will not mend it."""
        states = {each.get("status") for each in (self.applications or {}).values()}
        return self.health is Health.STARTING or not states.isdisjoint(BROKEN)


def find_question(observed: ObservedService, cluster: JsonObject, settings: Settings) -> AskServe | None:
    """Whom to ask; None while nobody could answer."""
    name, spec = cluster["metadata"]["name"], read_cluster_spec(cluster)
    service = observed.find(SERVICE, head_service_name(name, spec.head_group_spec))
    if not is_head_ready(observed, cluster, settings) or not isinstance(service, dict):
        return None
    address = find_dashboard_url(service, settings)
    return None if address is None else AskServe(name, address, token_secret(spec, name))


def is_head_ready(observed: ObservedService, cluster: JsonObject, settings: Settings) -> bool:
    if settings.gate("RayClusterStatusConditions"):
        return is_condition_true((cluster.get("status") or {}).get("conditions"), "HeadPodReady")
    head = observed.find_head(cluster["metadata"]["name"])
    return head is not None and is_ready(head)


def plan_serve(look: Look, cluster: JsonObject, order: Order = PLAIN) -> ServeSight:
    observed, settings, name = look.observed, look.settings, cluster["metadata"]["name"]
    if not is_head_ready(observed, cluster, settings):
        wait = wait_beside(Hold.CLUSTER_STARTS, f"RayCluster {name}", "its head is ready")
        return ServeSight(Health.STARTING, wait, {})
    question = find_question(observed, cluster, settings)
    if question is None:
        wait = wait_beside(Hold.NO_DASHBOARD, f"RayCluster {name} has no dashboard port", "the head names one")
        return ServeSight(Health.UNKNOWN, wait)
    answer = observed.serve.get(name, Unknown("Serve has not been asked"))
    if isinstance(answer, Unknown):
        wait = wait_beside(Hold.SERVE_SILENT, f"RayCluster {name}: {answer.why}", "it answers")
        return ServeSight(Health.UNKNOWN, wait)
    return _compare(look, question, answer, order)


def _compare(look: Look, question: AskServe, answer: Fact[ServeInfo], order: Order) -> ServeSight:
    observed, told, shown = look.observed, answer.value, describe_applications(answer.value)
    config, place = _choose_config(observed, told, order), f"{observed.service.metadata.namespace}/{question.cluster}"
    if isinstance(config, Impossible):
        told_why = (applications_impossible(place, config.message),)  # what is waited for is told beside Serve
        return ServeSight(Health.DEPLOYING, Part(events=told_why), shown)
    if config is not None and not is_current(told, config):
        sent = look.remembered.sent.get(question.cluster)
        held = _hold_back(sent, told, config, look.now)
        if held is None:
            part = Part(actions=(_configure(observed, question, config, told, order),))
            return ServeSight(Health.DEPLOYING, part, shown)
        if held > 0:
            wait = _tell_held(question.cluster, sent.refusal if sent else "", held)
            return ServeSight(Health.DEPLOYING, wait, shown)
    if told.applications and all(each.status == RUNNING for each in told.applications.values()):
        return ServeSight(Health.READY, NOTHING, shown)
    states = ", ".join(f"{name} {each.status}" for name, each in sorted(told.applications.items())) or "no application"
    return ServeSight(Health.DEPLOYING, wait_beside(Hold.DEPLOYING, states, "all applications are RUNNING"), shown)


def _tell_held(cluster: str, refusal: str, seconds: float) -> Part:
    if refusal:
        said = f"RayCluster {cluster}: {refusal}"
        return wait_beside(Hold.CONFIG_REFUSED, said, "Serve takes it", wake_after=seconds)
    until = "Serve follows, or it is sent again"
    return wait_beside(Hold.SERVES_OTHERS, f"RayCluster {cluster}", until, wake_after=seconds)


def _choose_config(observed: ObservedService, told: ServeInfo, order: Order) -> JsonObject | Impossible | None:
    """What a cluster that keeps its configuration runs is in Serve's report; None: the report does not say enough."""
    config = read_serve_config(observed.service)
    is_other = isinstance(config, Impossible) or not has_applications(told, config)
    if order.keeps_config and told.applications and is_other:
        configs = [each.config for each in told.applications.values()]
        if None in configs:
            return None
        config = {"applications": configs}
    if isinstance(config, Impossible) or order.capacity is None:
        return config
    return {**config, TARGET_CAPACITY: order.capacity}


def _hold_back(sent: Sent | None, told: ServeInfo, config: JsonObject, now: float) -> float | None:
    """Seconds until the configuration is sent again; None: it is sent now; 0: Serve took it, and words it differently.

    Whether Serve took it shows in the time of deployment that it reports.
    """
    if sent is None or sent.digest != digest_config(config):
        return None
    if sent.refusal:
        left = sent.at + REFUSED_AGAIN_AFTER - now
        return left if left > 0 else None
    if told.deployed != sent.deployed_before and told.applications.keys() == list_applications(config).keys():
        return 0.0
    left = sent.at + SEND_AGAIN_AFTER - now
    return left if left > 0 else None


def is_current(told: ServeInfo, config: JsonObject) -> bool:
    """Whether Serve reports what is asked for."""
    return has_applications(told, config) and _percent(told.capacity) == _percent(config.get(TARGET_CAPACITY))


def _percent(capacity: Any) -> float:
    """Without a word about it there is all of it."""
    return float(capacity) if isinstance(capacity, int | float) else 100.0


def has_applications(told: ServeInfo, config: JsonObject) -> bool:
    wanted = list_applications(config)
    if told.applications.keys() != wanted.keys():
        return False
    return all(is_same_application(wanted[name], each.config) for name, each in told.applications.items())


def describe_applications(told: ServeInfo) -> JsonObject:
    """As the status shows them (rayservice.md §10.5)."""
    return {
        name: _tidy(
            status=each.status,
            message=each.message,
            serveDeploymentStatuses={
                deployment: _tidy(status=info.status, message=info.message)
                for deployment, info in each.deployments.items()
            },
        )
        for name, each in told.applications.items()
    }


def _tidy(**fields: Any) -> JsonObject:
    return {key: value for key, value in fields.items() if value}


def _configure(
    observed: ObservedService, question: AskServe, config: JsonObject, told: ServeInfo, order: Order
) -> Effect:
    metadata = observed.service.metadata
    key, place = applications_key(metadata.uid, question.cluster), f"{metadata.namespace}/{question.cluster}"
    where = {
        "namespace": metadata.namespace,
        "cluster": question.cluster,
        "address": question.address,
        "secret": question.secret,
        "config": config,
        "deployedBefore": told.deployed,
    }
    is_share = order.capacity is not None and has_applications(told, config)  # its capacity alone changes, and is ours
    because = Because.CAPACITY_MOVES if is_share else Because.CONFIG_DIFFERS
    has_share = order.is_shared and bool(config.get(TARGET_CAPACITY))  # without any it has not been given one yet
    report = report_capacity(place) if is_share else report_applications(place, has_share=has_share)
    return Effect(
        CONFIGURE, where, digest_config(config), because, report,
        decided_on=(key,), touches=(key,), seconds=CONFIGURE_SECONDS,
    )  # fmt: skip
