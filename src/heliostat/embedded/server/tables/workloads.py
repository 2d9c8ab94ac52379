"""The columns of what makes Pods: Deployments, sets, Jobs and their templates."""

from heliostat.embedded.server.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Column,
    Columns,
    computed,
    entries,
    items,
    look,
    number,
    number_at,
    text,
)
from heliostat.embedded.server.tables.durations import human_duration
from heliostat.embedded.server.tables.phrases import (
    container_columns,
    has_condition,
    is_going,
    labels_column,
    labels_text,
    selector_text,
)
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import parse_timestamp

_TEMPLATE = "spec.template.spec"
_SELECTOR = Column("Selector", lambda tree, _now: selector_text(look(tree, "spec.selector") or {}), priority=1)

# The first condition that holds names the state; "" asks whether it is being deleted.
_JOB_STATES = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)


def _ready_of_desired(tree: JsonObject) -> str:
    return f"{look(tree, 'status.readyReplicas') or 0}/{look(tree, 'spec.replicas') or 0}"


def _job_state(job: JsonObject) -> str:
    for condition, name in _JOB_STATES:
        if has_condition(job, condition) if condition else is_going(job):
            return name
    return "Running"


def _job_completions(job: JsonObject) -> str:
    done, wanted = look(job, "status.succeeded") or 0, look(job, "spec.completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = look(job, "spec.parallelism") or 0
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(job: JsonObject, now: float) -> str:
    started, ended = look(job, "status.startTime"), look(job, "status.completionTime")
    if not started:
        return ""
    return human_duration((parse_timestamp(ended) if ended else now) - parse_timestamp(started))


def _last_schedule(cronjob: JsonObject, now: float) -> str:
    last = look(cronjob, "status.lastScheduleTime")
    return human_duration(now - parse_timestamp(last)) if last else NONE


def _suspended(cronjob: JsonObject) -> str:
    suspend = look(cronjob, "spec.suspend")
    return UNSET if suspend is None else str(bool(suspend))


def _controller(revision: JsonObject) -> str:
    owner = next((owner for owner in items(revision, "metadata.ownerReferences") if owner.get("controller")), None)
    if owner is None:
        return NONE
    group, slash, _version = str(owner.get("apiVersion")).rpartition("/")
    kind = str(owner.get("kind")).lower()
    return f"{kind}.{group}/{owner.get('name')}" if slash else f"{kind}/{owner.get('name')}"


_REPLICAS: Columns = (
    NAME,
    number("Desired", "spec.replicas"),
    number("Current", "status.replicas"),
    number("Ready", "status.readyReplicas"),
    AGE,
    *container_columns(_TEMPLATE),
)

WORKLOADS: dict[str, Columns] = {
    "replicasets.apps": (*_REPLICAS, _SELECTOR),
    "replicationcontrollers": (*_REPLICAS, labels_column("Selector", "spec.selector", priority=1)),
    "deployments.apps": (
        NAME,
        computed("Ready", _ready_of_desired),
        Column("Up-to-date", number_at("status.updatedReplicas")),
        Column("Available", number_at("status.availableReplicas")),
        AGE,
        *container_columns(_TEMPLATE),
        _SELECTOR,
    ),
    "statefulsets.apps": (NAME, computed("Ready", _ready_of_desired), AGE, *container_columns(_TEMPLATE)),
    "daemonsets.apps": (
        NAME,
        number("Desired", "status.desiredNumberScheduled"),
        number("Current", "status.currentNumberScheduled"),
        number("Ready", "status.numberReady"),
        number("Up-to-date", "status.updatedNumberScheduled"),
        number("Available", "status.numberAvailable"),
        labels_column("Node Selector", f"{_TEMPLATE}.nodeSelector"),
        AGE,
        *container_columns(_TEMPLATE),
        _SELECTOR,
    ),
    "jobs.batch": (
        NAME,
        computed("Status", _job_state),
        computed("Completions", _job_completions),
        Column("Duration", _job_duration),
        AGE,
        *container_columns(_TEMPLATE),
        _SELECTOR,
    ),
    "cronjobs.batch": (
        NAME,
        text("Schedule", "spec.schedule"),
        text("Timezone", "spec.timeZone", NONE),
        computed("Suspend", _suspended, type="boolean"),
        computed("Active", lambda tree: len(items(tree, "status.active")), type="integer"),
        Column("Last Schedule", _last_schedule),
        AGE,
        *container_columns("spec.jobTemplate.spec.template.spec"),
        computed(
            "Selector", lambda tree: selector_text(look(tree, "spec.jobTemplate.spec.selector") or {}), priority=1
        ),
    ),
    "podtemplates": (
        NAME,
        *container_columns("template.spec", priority=0),
        computed("Pod Labels", lambda tree: labels_text(entries(tree, "template.metadata.labels"))),
    ),
    "controllerrevisions.apps": (
        NAME,
        computed("Controller", _controller),
        computed("Revision", lambda tree: look(tree, "revision") or 0),
        AGE,
    ),
}
