"""The columns of what extends or steers the API server itself: webhooks, policies, API services, request priorities."""

from heliostat.embedded.server.tables.columns import (
    AGE,
    CREATED_AT,
    NAME,
    NONE,
    UNSET,
    Column,
    Columns,
    computed,
    items,
    look,
    text,
)
from heliostat.embedded.server.tables.phrases import condition, first_few, selector_text
from heliostat.kube.jsontree import JsonObject

_DANGLING = "Dangling"


def _length(heading: str, path: str) -> Column:
    return computed(heading, lambda tree: len(items(tree, path)), type="integer")


def _param_kind(policy: JsonObject) -> str:
    kind = look(policy, "spec.paramKind")
    return f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET


def _param_ref(binding: JsonObject) -> str:
    reference = look(binding, "spec.paramRef")
    if not reference:
        return UNSET
    if not reference.get("name"):
        return selector_text(reference.get("selector") or {})
    return f"{reference.get('namespace') or '*'}/{reference['name']}"


def _api_service(service: JsonObject) -> str:
    reference = look(service, "spec.service")
    return f"{reference.get('namespace')}/{reference.get('name')}" if reference else "Local"


def _availability(service: JsonObject) -> str:
    found = condition(service, "Available")
    if found is None:
        return "Unknown"
    status = str(found.get("status"))
    return status if status == "True" or not found.get("reason") else f"{status} ({found['reason']})"


def _missing_level(schema: JsonObject) -> str:
    found = condition(schema, _DANGLING)
    return "?" if found is None else str(found.get("status"))


def _limited(heading: str, path: str) -> Column:
    def read(level: JsonObject) -> object:
        value = look(level, f"spec.limited.{path}")
        return NONE if value is None else value

    return computed(heading, read)


def _storage_versions(version: JsonObject) -> str:
    servers = items(version, "status.storageVersions")
    return first_few([f"{server.get('apiServerID')}={server.get('encodingVersion')}" for server in servers])


def _migrated(migration: JsonObject) -> str:
    resource = look(migration, "spec.resource") or {}
    group = f".{resource['group']}" if resource.get("group") else ""
    return f"{resource.get('resource')}.{resource.get('version')}{group}"


_BINDING: Columns = (NAME, text("PolicyName", "spec.policyName"), computed("ParamRef", _param_ref), AGE)
_GROUP = "admissionregistration.k8s.io"

EXTENSIONS: dict[str, Columns] = {
    "customresourcedefinitions.apiextensions.k8s.io": (NAME, CREATED_AT),
    f"mutatingwebhookconfigurations.{_GROUP}": (NAME, _length("Webhooks", "webhooks"), AGE),
    f"validatingwebhookconfigurations.{_GROUP}": (NAME, _length("Webhooks", "webhooks"), AGE),
    f"validatingadmissionpolicies.{_GROUP}": (
        NAME,
        _length("Validations", "spec.validations"),
        computed("ParamKind", _param_kind),
        AGE,
    ),
    f"validatingadmissionpolicybindings.{_GROUP}": _BINDING,
    f"mutatingadmissionpolicies.{_GROUP}": (
        NAME,
        _length("Mutations", "spec.mutations"),
        computed("ParamKind", _param_kind),
        AGE,
    ),
    f"mutatingadmissionpolicybindings.{_GROUP}": _BINDING,
    "apiservices.apiregistration.k8s.io": (
        NAME,
        computed("Service", _api_service),
        computed("Available", _availability),
        AGE,
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": (
        NAME,
        text("PriorityLevel", "spec.priorityLevelConfiguration.name"),
        computed("MatchingPrecedence", lambda tree: look(tree, "spec.matchingPrecedence") or 0),
        text("DistinguisherMethod", "spec.distinguisherMethod.type", NONE),
        AGE,
        computed("MissingPL", _missing_level),
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": (
        NAME,
        text("Type", "spec.type"),
        _limited("NominalConcurrencyShares", "nominalConcurrencyShares"),
        _limited("Queues", "limitResponse.queuing.queues"),
        _limited("HandSize", "limitResponse.queuing.handSize"),
        _limited("QueueLengthLimit", "limitResponse.queuing.queueLengthLimit"),
        AGE,
    ),
    "storageversions.internal.apiserver.k8s.io": (
        NAME,
        text("CommonEncodingVersion", "status.commonEncodingVersion", UNSET),
        computed("StorageVersions", _storage_versions),
        AGE,
    ),
    "storageversionmigrations.storagemigration.k8s.io": (
        Column("Name", NAME.cell),
        computed("Resource", _migrated),
    ),
}
