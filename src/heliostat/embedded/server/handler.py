"""The API server's core: ``handle(Request)`` gives a ``Response`` or a ``Stream``. It knows no HTTP library.

Order: what the path is about, whether the user may, then the verb. Every refusal becomes a Status; anything else
that goes wrong is a bug, told to the client as 500 without its inner workings and to the operator through
``on_bug``.
"""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import structs

from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.access.users import User
from heliostat.embedded.kinds.deletions import RETURNED_WHEN_DELETED
from heliostat.embedded.server.bodies import check_object_kind, read_body
from heliostat.embedded.server.builtin_kinds import CREATE_ONLY
from heliostat.embedded.server.deletion import ORPHANING_JOB, orphans_by_default, read_delete_options
from heliostat.embedded.server.errors import (
    MODIFIED,
    Cause,
    RefusedError,
    conflict,
    invalid,
    method_not_allowed,
    no_such_path,
    refusal_response,
)
from heliostat.embedded.server.field_tracking import FieldTracking
from heliostat.embedded.server.messages import Answer, Request, Response, Stream
from heliostat.embedded.server.metadata import check_name_of
from heliostat.embedded.server.negotiation import PLAIN, Form, read_form
from heliostat.embedded.server.patches.options import manager_causes, manager_of_request
from heliostat.embedded.server.patching import Apply, read_patch
from heliostat.embedded.server.reads import as_served, build_list, find_record, list_page
from heliostat.embedded.server.registry import Registry
from heliostat.embedded.server.rendering import render, render_refusal, watched_object
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.review_answers import ReviewAnswers
from heliostat.embedded.server.subresources import Subresources
from heliostat.embedded.server.targets import Target, parse_target
from heliostat.embedded.server.watching import open_watch
from heliostat.embedded.server.writes import WriteOptions, Writer, Written, deleted_status
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject, encode_json

Authorize: TypeAlias = Callable[[User, Attributes], None]  # raises RefusedError
PathHandler: TypeAlias = Callable[[Request], Awaitable[Answer | None]]  # None: not mine

# Subresources that connect to a node: what comes back is not the server's to render.
CONNECTIONS = frozenset(("attach", "exec", "log", "portforward", "proxy"))
APPLY_TRIES = 5
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


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

    async def handle(self, request: Request) -> Answer:
        try:
            return await self._dispatch(request)
        except RefusedError as refused:
            return render_refusal(refusal_response(refused), request)
        except Exception as error:  # noqa: BLE001 - the last line of defence; nothing is lost, it is reported
            self._on_bug(error)
            message = "Internal error occurred: the server met a bug; its log tells more"
            return refusal_response(RefusedError(500, "InternalError", message))

    async def _dispatch(self, request: Request) -> Answer:
        target = parse_target(request.path)
        resource = self._registry.find(target.group, target.version, target.plural) if target else None
        if target is None or resource is None:
            return await self._other(request)
        if target.subresource and target.subresource not in resource.subresources:
            raise no_such_path()
        if bool(target.namespace) and not resource.is_namespaced:
            raise no_such_path()
        verb = _verb_of(request, target)
        self._authorize(request.user, _attributes(verb, resource, target))
        if not target.subresource and verb not in resource.verbs:
            raise method_not_allowed()
        if resource.is_namespaced and not target.namespace and verb not in ("list", "watch"):
            raise method_not_allowed()
        form = read_form(request, is_watch=verb == "watch") if target.subresource not in CONNECTIONS else PLAIN
        answer = await self._special(request, resource, target, verb)
        if answer is None:
            answer = await self._serve(request, resource, target, verb, form)
        return answer if form.is_plain else await render(answer, form, resource, self._now())

    async def _other(self, request: Request) -> Answer:
        self._authorize(request.user, Attributes(_path_verb(request), path=request.path))
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
        return None

    async def _serve(self, request: Request, resource: Resource, target: Target, verb: str, form: Form) -> Answer:
        match verb:
            case "get":
                record = find_record(self._store, resource, target.namespace, target.name)
                return Response(200, as_served(record.body, resource))
            case "list":
                listed = await list_page(self._store, resource, target.namespace, request)
                return Response(200, build_list(listed, resource))
            case "watch":
                watched = watched_object(form, resource, self._now)
                return Stream(await open_watch(self._store, resource, target.namespace, request, watched))
            case "create":
                tree = check_object_kind(read_body(request), resource)
                if resource.plural in CREATE_ONLY:
                    return self._answer_review(tree, resource, target, request.user)
                options = _write_options(request, target)
                return await _told(self._writer.create(tree, resource, target.namespace, options), resource, options)
            case "update":
                tree = check_object_kind(read_body(request), resource)
                options = _write_options(request, target)
                writing = self._writer.update(tree, resource, target.namespace, target.name, options)
                return await _told(writing, resource, options)
            case "patch":
                return await self._patch(request, resource, target)
            case "delete":
                how = read_delete_options(request)
                warnings = (ORPHANING_JOB,) if resource.kind == "Job" and orphans_by_default(resource, how) else ()
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

    def _answer_review(self, question: JsonObject, resource: Resource, target: Target, user: User) -> Answer:
        answer = self._reviews.answer(resource.plural, question, user, target.namespace) if self._reviews else None
        if answer is None:
            raise method_not_allowed()
        return Response(201, encode_json(answer))

    async def _patch(self, request: Request, resource: Resource, target: Target) -> Answer:
        options = _write_options(request, target)
        change = read_patch(request, resource)
        if isinstance(change, Apply):
            return await _told(self._apply(change, resource, target, options), resource, options)
        writing = self._writer.change(resource, target.namespace, target.name, change, options)
        return await _told(writing, resource, options)

    async def _apply(self, apply: Apply, resource: Resource, target: Target, options: WriteOptions) -> Written:
        """Change what is there, or create it; whoever was faster is met again."""
        options = structs.replace(options, is_apply=True)

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
            tree["metadata"].pop("resourceVersion", None)  # of an object that is gone
            check_name_of(tree, target.name)
            try:
                return await self._writer.create(tree, resource, target.namespace, options)
            except RefusedError as refused:
                if refused.reason != "AlreadyExists":
                    raise
        raise conflict(resource.plural, resource.group, target.name, MODIFIED)

    async def _delete_collection(self, request: Request, resource: Resource, target: Target) -> Answer:
        listed = await list_page(self._store, resource, target.namespace, request)
        options = read_delete_options(request)
        for record in listed.page.records:
            try:
                await self._writer.delete(resource, record.key.namespace, record.key.name, options)
            except RefusedError as refused:
                if refused.code != 404:  # somebody else was faster, which is what was wanted
                    raise
        return Response(200, build_list(listed, resource))


def _verb_of(request: Request, target: Target) -> str:
    if request.method in ("GET", "HEAD"):
        if request.flag("watch"):
            return "watch"
        return "get" if target.name else "list"
    if request.method == "DELETE":
        return "delete" if target.name else "deletecollection"
    verb = _VERBS.get(request.method)
    is_collection = verb == "create"
    if verb is None or (is_collection and target.name and not target.subresource):
        raise method_not_allowed()
    if not is_collection and not target.name:
        raise method_not_allowed()
    return verb


def _path_verb(request: Request) -> str:
    return {"GET": "get", "HEAD": "head", "POST": "post", "PUT": "put", "DELETE": "delete"}.get(
        request.method, request.method.lower()
    )


def _attributes(verb: str, resource: Resource, target: Target) -> Attributes:
    return Attributes(
        verb=verb,
        group=resource.group,
        resource=resource.plural,
        subresource=target.subresource,
        namespace=target.namespace,
        name=target.name,
    )


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
