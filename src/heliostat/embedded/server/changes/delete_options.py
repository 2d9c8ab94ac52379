"""How something is to be deleted: read from the body where there is one, else from the query, and judged.

What cannot be read is a bare 500, as in kube-apiserver, which has no better word for it here; options that make no
sense are told all at once with 422.
"""

import msgspec
from msgspec import Struct

from heliostat.embedded.kinds.typed.typed_form import TypedError, fit_type
from heliostat.embedded.server.documents.bodies import BodyError, read_body
from heliostat.embedded.server.documents.object_bodies import as_object, unknown_kind
from heliostat.embedded.server.errors import Cause, RefusedError, conflict, invalid
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.reading.list_options import read_number
from heliostat.embedded.server.resources import Resource
from heliostat.kube.go_text import go_json, go_quote
from heliostat.kube.jsontree import JsonObject

_KIND = "DeleteOptions"
_POLICIES = ("Foreground", "Background", "Orphan")
_POLICY = "propagationPolicy"


class Preconditions(Struct, frozen=True, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(Struct, frozen=True, rename="camel"):
    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None


def read_delete_options(request: Request) -> DeleteOptions:
    options = _read_body(request) if request.body else _read_query(request)
    causes = _causes(options)
    if causes:
        raise invalid(_KIND, "meta.k8s.io", "", causes)
    return options


def check_preconditions(tree: JsonObject, resource: Resource, options: DeleteOptions) -> None:
    """They must hold for the version that is deleted."""
    wanted = options.preconditions
    if wanted is None:
        return
    metadata = tree["metadata"]
    if resource.storage_name == "namespaces":
        _check_namespace_preconditions(metadata, wanted)
        return
    why = ""
    if wanted.uid is not None and wanted.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({metadata['uid']})."
            " The object might have been deleted and then recreated"
        )
    elif wanted.resource_version is not None and wanted.resource_version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match the ResourceVersion"
            f" in record ({metadata['resourceVersion']}). The object might have been modified"
        )
    if why:
        raise conflict(resource.kind, resource.group, metadata["name"], why)


def _check_namespace_preconditions(metadata: JsonObject, wanted: Preconditions) -> None:
    """The same in other words."""
    version = metadata["resourceVersion"]
    for what, given, found in (
        ("UID", wanted.uid, metadata["uid"]),
        ("ResourceVersion", wanted.resource_version, version),
    ):
        if given is not None and given != found:
            why = f"Precondition failed: {what} in precondition: {given}, {what} in object meta: {found}"
            raise conflict("namespaces", "", metadata["name"], why)


def _read_body(request: Request) -> DeleteOptions:
    try:
        tree = as_object(read_body(request).tree)
        kind, version = tree.get("kind") or _KIND, tree.get("apiVersion") or ""
        problem = "" if kind == _KIND else unknown_kind(kind, version)
        if not problem:
            fit_type(tree, "meta.v1.DeleteOptions")
    except (BodyError, TypedError) as error:
        problem = str(error)
    if problem:
        raise RefusedError(500, "", problem)
    return msgspec.convert(tree, DeleteOptions)


def _read_query(request: Request) -> DeleteOptions:
    has_grace, has_orphans = "gracePeriodSeconds" in request.query, "orphanDependents" in request.query
    return DeleteOptions(
        grace_period_seconds=read_number(request, "gracePeriodSeconds") if has_grace else None,
        orphan_dependents=request.flag("orphanDependents") if has_orphans else None,
        propagation_policy=request.parameter(_POLICY) or None,
        dry_run=request.query.get("dryRun"),
    )


def _causes(options: DeleteOptions) -> list[Cause]:
    causes, policy = [], options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(Cause("FieldValueInvalid", f"Invalid value: {go_quote(policy)}: {why}", _POLICY))
    if policy not in (None, *_POLICIES):
        supported = ", ".join(f'"{name}"' for name in (*_POLICIES, "nil"))
        why = f"Unsupported value: {go_quote(str(policy))}: supported values: {supported}"
        causes.append(Cause("FieldValueNotSupported", why, _POLICY))
    if any(value != "All" for value in options.dry_run or ()):
        why = f'Unsupported value: {go_json(options.dry_run)}: supported values: "All"'
        causes.append(Cause("FieldValueNotSupported", why, "dryRun"))
    return causes
