"""Serve on one cluster: what it runs, whether that is what the spec asks for, and what to send (rayservice.md §8).

The configuration is sent only while Serve's own report differs from it; what was sent is remembered for one purpose
alone: where Serve took the configuration and describes it in its own words, it is not sent again at once. Applications
count as ready only when the report is of the configuration that the spec asks for now.
Differs from KubeRay: rayservice-config-by-report.
"""

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import RayClusterSpec
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
from heliostat.plan.rayservice.answers import RUNNING, AskServe, ServeInfo, applications_key
from heliostat.plan.rayservice.observed import ObservedService, Remembered, Sent
from heliostat.plan.rayservice.reasons import Because, Hold
from heliostat.plan.rayservice.reports import applications_impossible, report_applications
from heliostat.plan.rayservice.same_config import is_same_application

CONFIGURE = "serve-configure"
CONFIGURE_SECONDS = 10.0
SEND_AGAIN_AFTER = 30.0  # seconds, when Serve took a configuration and still reports another one


class Health(StrEnum):
    """How far the applications of a cluster are."""

    STARTING = "the head is not ready"
    UNKNOWN = "Serve has not answered"
    DEPLOYING = "not all applications run as the spec asks for"
    READY = "all applications run as the spec asks for"


class ServeSight(Struct, frozen=True):
    """``applications`` is None while it is not known what Serve runs: then what the status shows stays."""

    health: Health
    part: Part = NOTHING
    applications: JsonObject | None = None

    @property
    def is_ready(self) -> bool:
        return self.health is Health.READY


def find_question(observed: ObservedService, cluster: JsonObject, settings: Settings) -> AskServe | None:
    """Whom to ask; None while nobody could answer."""
    name, spec = cluster["metadata"]["name"], msgspec.convert(cluster["spec"], RayClusterSpec)
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


def plan_serve(
    observed: ObservedService, cluster: JsonObject, settings: Settings, remembered: Remembered, now: float
) -> ServeSight:
    name = cluster["metadata"]["name"]
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
    return _compare(observed, question, answer, remembered, now)


def _compare(
    observed: ObservedService, question: AskServe, answer: Fact[ServeInfo], remembered: Remembered, now: float
) -> ServeSight:
    told, shown = answer.value, describe_applications(answer.value)
    config, place = read_serve_config(observed.service), f"{observed.service.metadata.namespace}/{question.cluster}"
    if isinstance(config, Impossible):
        wait = wait_beside(Hold.CONFIG_IMPOSSIBLE, config.message, "it is corrected")
        told_why = (applications_impossible(place, config.message),)
        return ServeSight(Health.DEPLOYING, Part(waits=wait.waits, events=told_why), shown)
    if not is_current(told, config):
        held = _hold_back(remembered.sent.get(question.cluster), told, config, now)
        if held is None:
            part = Part(actions=(_configure(observed, question, config, told.deployed),))
            return ServeSight(Health.DEPLOYING, part, shown)
        if held > 0:
            wait = wait_beside(
                Hold.SERVES_OTHERS, f"RayCluster {question.cluster}", "Serve follows, or it is sent again"
            )
            return ServeSight(Health.DEPLOYING, Part(waits=wait.waits, wake_after=held), shown)
    if told.applications and all(each.status == RUNNING for each in told.applications.values()):
        return ServeSight(Health.READY, NOTHING, shown)
    states = ", ".join(f"{name} {each.status}" for name, each in sorted(told.applications.items())) or "no application"
    return ServeSight(Health.DEPLOYING, wait_beside(Hold.DEPLOYING, states, "all applications are RUNNING"), shown)


def _hold_back(sent: Sent | None, told: ServeInfo, config: JsonObject, now: float) -> float | None:
    """Seconds until the configuration is sent again; None: it is sent now; 0: Serve took it, and words it differently.

    Whether Serve took it shows in the time of deployment that it reports.
    """
    if sent is None or sent.digest != digest_config(config):
        return None
    if told.deployed != sent.deployed_before and told.applications.keys() == list_applications(config).keys():
        return 0.0
    left = sent.at + SEND_AGAIN_AFTER - now
    return left if left > 0 else None


def is_current(told: ServeInfo, config: JsonObject) -> bool:
    """Whether Serve reports what the spec asks for."""
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


def _configure(observed: ObservedService, question: AskServe, config: JsonObject, deployed: float) -> Effect:
    metadata = observed.service.metadata
    key = applications_key(metadata.uid, question.cluster)
    where = {
        "namespace": metadata.namespace,
        "cluster": question.cluster,
        "address": question.address,
        "secret": question.secret,
        "config": config,
        "deployedBefore": deployed,
    }
    return Effect(
        CONFIGURE, where, digest_config(config), Because.CONFIG_DIFFERS,
        report_applications(f"{metadata.namespace}/{question.cluster}"),
        decided_on=(key,), touches=(key,), seconds=CONFIGURE_SECONDS,
    )  # fmt: skip
