"""The API server's core: ``handle(Request)`` gives a ``Response`` or a ``Stream``. It knows no HTTP library.

Order: what the path and the method ask for, whether the user may, and only then whether there is such a thing: who may
not ask learns nothing. Every refusal becomes a Status; anything else that goes wrong is a bug, told to the client as
500 without its inner workings and to the operator through ``on_bug``.
"""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import structs

from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.access.users import User
from heliostat.embedded.kinds.deletions import RETURNED_WHEN_DELETED
from heliostat.embedded.server.builtin_kinds import CREATE_ONLY
from heliostat.embedded.server.changes.delete_options import read_delete_options
from heliostat.embedded.server.changes.deletion import deletion_cautions
from heliostat.embedded.server.changes.field_tracking import FieldTracking
from heliostat.embedded.server.changes.patching import Apply, patch_type_of, read_patch, refusal_of_an_apply
from heliostat.embedded.server.changes.stored_form import deleted_status
from heliostat.embedded.server.changes.subresources import Subresources
from heliostat.embedded.server.changes.writes import Writer
from heliostat.embedded.server.changes.writing import WriteOptions, Written
from heliostat.embedded.server.describing.deprecations import tell_deprecation
from heliostat.embedded.server.describing.review_answers import ReviewAnswers
from heliostat.embedded.server.documents.object_bodies import read_object
from heliostat.embedded.server.errors import (
    MODIFIED,
    Cause,
    RefusedError,
    conflict,
    invalid,
    method_not_allowed,
    no_such_path,
    not_found,
    refusal_response,
)
from heliostat.embedded.server.front.negotiation import PLAIN, Form, read_form
from heliostat.embedded.server.messages import Answer, Request, Response, Stream
from heliostat.embedded.server.metadata import check_name_of
from heliostat.embedded.server.patches.options import manager_causes, manager_of_request
from heliostat.embedded.server.reading.reads import as_served, build_list, find_version, list_page
from heliostat.embedded.server.reading.rendering import render, render_refusal, watched_object
from heliostat.embedded.server.reading.repeated_lists import RepeatedLists
from heliostat.embedded.server.reading.watching import open_watch
from heliostat.embedded.server.registry import Registry
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.routes import build_attributes, check_route, verb_of
from heliostat.embedded.server.targets import Target, parse_target
from heliostat.embedded.storage.errors import NoRoomError, StoreFailedError
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject, encode_json

Authorize: TypeAlias = Callable[[User, Attributes], None]  # raises RefusedError
PathHandler: TypeAlias = Callable[[Request], Awaitable[Answer | None]]  # None: not mine

# Subresources that connect to a node: what comes back is not the server's to render.
CONNECTIONS = frozenset(("attach", "exec", "log", "portforward", "proxy"))
APPLY_TRIES = 5


class ApiHandler:
    def __init__(
        self,
        store: Store,
        registry: Registry,
        writer: Writer,
        authorize: Authorize,
        *,
        other_paths: tuple[PathHandler, ...] = (),
        reviews: ReviewAnswers | None = None,
        on_bug: Callable[[BaseException], None],
        now: Callable[[], float],
        tracking: FieldTracking,
        subresources: Subresources,
    ) -> None:
        self._store = store
        self._registry = registry
        self._writer = writer
        self._authorize = authorize
        self._other_paths = other_paths
        self._reviews = reviews
        self._on_bug = on_bug
        self._now = now
        self._tracking = tracking
        self._subresources = subresources
        self._lists = RepeatedLists(store)

    async def handle(self, request: Request) -> Answer:
        try:
            return await self._dispatch(request)
        except RefusedError as refused:
            answer = render_refusal(refusal_response(refused), request)
            return structs.replace(answer, body=b"") if request.method == "HEAD" else answer
        except (StoreFailedError, NoRoomError) as error:
            return refusal_response(RefusedError(500, "InternalError", f"Internal error occurred: {error}"))
        except Exception as error:  # noqa: BLE001 - the last line of defence; nothing is lost, it is reported
            self._on_bug(error)
            message = "Internal error occurred: the server met a bug; its log tells more"
            return refusal_response(RefusedError(500, "InternalError", message))

    async def _dispatch(self, request: Request) -> Answer:
        target = parse_target(request.path)
        if target is None:
            self._authorize(request.user, Attributes(request.method.lower(), path=request.path))
            return await self._other(request)
        verb = verb_of(request, target)
        self._authorize(request.user, build_attributes(request, target, verb))
        resource = self._registry.find(target.group, target.version, target.plural)
        if resource is None or (resource.is_custom and target.namespace and not resource.is_namespaced):
            return await self._other(request)
        check_route(request, resource, target, verb)
        form = read_form(request, is_watch=verb == "watch") if target.subresource not in CONNECTIONS else PLAIN
        answer = await tell_deprecation(self._answer(request, resource, target, verb, form), resource)
        return answer if form.is_plain else await render(answer, form, resource, self._now())

    async def _answer(self, request: Request, resource: Resource, target: Target, verb: str, form: Form) -> Answer:
        answer = await self._special(request, resource, target, verb)
        return answer if answer is not None else await self._serve(request, resource, target, verb, form)

    async def _other(self, request: Request) -> Answer:
        """What is no resource. Whether the user may ask was decided before."""
        for handler in self._other_paths:
            answer = await handler(request)
            if answer is not None:
                return answer
        raise no_such_path()

    async def _special(self, request: Request, resource: Resource, target: Target, verb: str) -> Answer | None:
        """What is not another view of an object; None for what is."""
        if target.subresource:
            options = _write_options(request, target)
            return await self._subresources.serve(request, resource, target, verb, options)
        if resource.plural == "bindings":
            return await self._subresources.bind(request, target, _write_options(request, target))
        if resource.plural == "componentstatuses" and target.name:
            raise not_found("componentstatus", "", target.name)  # there are no components besides the server
        return None

    async def _serve(self, request: Request, resource: Resource, target: Target, verb: str, form: Form) -> Answer:
        match verb:
            case "get":
                version = request.parameter("resourceVersion")
                record = find_version(self._store, resource, target.namespace, target.name, version)
                return Response(200, as_served(record.body, resource))
            case "list":
                return Response(200, await self._list(request, resource, target))
            case "watch":
                watched = watched_object(form, resource, self._now)
                where = (self._store, resource, target.namespace, request, watched, target.name)
                return Stream(await open_watch(*where))
            case "create":
                options = _write_options(request, target)
                body = read_object(request, resource, self._registry.find_kind)
                options = structs.replace(options, strict=body.strict)
                if resource.plural in CREATE_ONLY:
                    self._writer.read(body.tree, resource, options)
                    return self._answer_review(body.tree, resource, target, options)
                writing = self._writer.create(body.tree, resource, target.namespace, options)
                return await _told(writing, resource, options)
            case "update":
                options = _write_options(request, target)
                body = read_object(request, resource, self._registry.find_kind)
                options = structs.replace(options, strict=body.strict)
                writing = self._writer.update(body.tree, resource, target.namespace, target.name, options)
                return await _told(writing, resource, options)
            case "patch":
                return await self._patch(request, resource, target)
            case "delete":
                how = read_delete_options(request)
                warnings = deletion_cautions(resource, how)
                try:
                    written = await self._writer.delete(resource, target.namespace, target.name, how)
                except RefusedError as refused:
                    refused.warnings = warnings
                    raise
                if written.deleted and resource.storage_name not in RETURNED_WHEN_DELETED:
                    return Response(200, deleted_status(resource, written.body), warnings=warnings)
                return Response(200, as_served(written.body, resource), warnings=warnings)
            case "deletecollection":
                return await self._delete_collection(request, resource, target)
        raise method_not_allowed()

    def _answer_review(self, question: JsonObject, resource: Resource, target: Target, options: WriteOptions) -> Answer:
        answer = None
        if self._reviews is not None and options.user is not None:
            answer = self._reviews.answer(resource.plural, question, options.user, target.namespace)
        if answer is None:
            raise method_not_allowed()
        return Response(201, encode_json(answer), warnings=tuple(options.warned))

    async def _patch(self, request: Request, resource: Resource, target: Target) -> Answer:
        patch_type_of(request, resource)
        options = _write_options(request, target)
        patch = read_patch(request, resource)
        if isinstance(patch, Apply):
            return await _told(self._apply(patch, resource, target, options), resource, options)
        options = structs.replace(options, strict=patch.strict, refuse=patch.refuse)
        writing = self._writer.change(resource, target.namespace, target.name, patch, options)
        return await _told(writing, resource, options)

    async def _apply(self, apply: Apply, resource: Resource, target: Target, options: WriteOptions) -> Written:
        """Change what is there, or create it; whoever was faster is met again."""
        refuse = None if resource.is_custom else refusal_of_an_apply(apply, resource)
        options = structs.replace(options, is_apply=True, refuse=refuse)

        def change(live: JsonObject | None) -> JsonObject:
            return self._tracking.apply(
                live, apply.body, resource, target.subresource, apply.manager, force=apply.force
            )

        for _ in range(APPLY_TRIES):
            try:
                return await self._writer.change(resource, target.namespace, target.name, change, options)
            except RefusedError as refused:
                if refused.code != 404 or target.subresource:
                    raise
            tree = change(None)
            check_name_of(tree, target.name)
            tree["metadata"].pop("resourceVersion", None)  # of an object that is gone
            if uid := tree["metadata"].get("uid"):
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise conflict(resource.plural, resource.group, target.name, why)
            try:
                return await self._writer.create(tree, resource, target.namespace, options)
            except RefusedError as refused:
                if refused.reason != "AlreadyExists":
                    raise
        raise conflict(resource.plural, resource.group, target.name, MODIFIED)

    async def _list(self, request: Request, resource: Resource, target: Target) -> bytes:
        body = self._lists.find(request, resource)
        if body is None:
            body = build_list(await list_page(self._store, resource, target.namespace, request), resource)
            self._lists.keep(request, resource, body)
        return body

    async def _delete_collection(self, request: Request, resource: Resource, target: Target) -> Answer:
        listed = await list_page(self._store, resource, target.namespace, request)
        options = read_delete_options(request)
        for record in listed.page.records:
            try:
                await self._writer.delete(resource, record.key.namespace, record.key.name, options)
            except RefusedError as refused:
                if refused.code != 404:  # somebody else was faster, which is what was wanted
                    raise
        return Response(200, build_list(listed, resource), warnings=deletion_cautions(resource, options))


def _write_options(request: Request, target: Target) -> WriteOptions:
    kind = {"POST": "CreateOptions", "PUT": "UpdateOptions"}.get(request.method, "PatchOptions")
    dry_run = request.query.get("dryRun", [])
    causes: list[Cause] = []
    if any(value != "All" for value in dry_run):
        message = f'Unsupported value: {encode_json(dry_run).decode()}: supported values: "All"'
        causes.append(Cause("FieldValueNotSupported", message, "dryRun"))
    validation = request.parameter("fieldValidation") or "Warn"
    if validation not in ("Strict", "Warn", "Ignore"):
        message = f'Unsupported value: "{validation}": supported values: "", "Ignore", "Strict", "Warn"'
        causes.append(Cause("FieldValueNotSupported", message, "fieldValidation"))
    manager = request.parameter("fieldManager")
    causes += manager_causes(manager)
    if causes:
        raise invalid(kind, "meta.k8s.io", "", causes)
    return WriteOptions(
        dry_run=bool(dry_run),
        field_validation=validation,
        subresource=target.subresource,
        manager=manager_of_request(manager, request.headers.get("user-agent", "")),
        user=request.user,
    )


async def _told(writing: Awaitable[Written], resource: Resource, options: WriteOptions) -> Response:
    """The answer to a write, with its warnings, also when it is refused."""
    try:
        written = await writing
    except RefusedError as refused:
        refused.warnings = tuple(options.warned)
        raise
    body = as_served(written.body, resource)
    return Response(201 if written.created else 200, body, warnings=tuple(options.warned))
