"""The subresources that are more than another view of their object: scale, binding, eviction, tokens, and a node's.

``serve`` answers those and gives None for the rest (``status``, ``ephemeralcontainers``, ``resize``), which are written
like the object itself, through a narrower door.
"""

import msgspec
from msgspec import Struct

from heliostat.embedded.access.token_requests import Issuer, answer_token_request
from heliostat.embedded.kinds.typed.typed_form import TypedError, fit_type
from heliostat.embedded.kinds.workloads.scale import SCALE_DEFINITION, build_scale, scaled
from heliostat.embedded.refusals import RefusedError, bad_request
from heliostat.embedded.server.changes.evictions import Evictions
from heliostat.embedded.server.changes.patching import Apply, Patch, read_patch
from heliostat.embedded.server.changes.pod_bindings import PodBindings
from heliostat.embedded.server.changes.writes import Writer
from heliostat.embedded.server.changes.writing import WriteOptions
from heliostat.embedded.server.custom.foreign_kinds import why_not_convertible
from heliostat.embedded.server.documents.bodies import BodyError, read_body
from heliostat.embedded.server.documents.object_bodies import as_object, unrecognized
from heliostat.embedded.server.errors import method_not_allowed as never_allowed
from heliostat.embedded.server.errors import no_such_path
from heliostat.embedded.server.messages import Answer, Request, Response
from heliostat.embedded.server.metadata import Authority, check_name_of
from heliostat.embedded.server.nodes.node_backend import NodeBackend
from heliostat.embedded.server.nodes.node_connections import NodeConnections
from heliostat.embedded.server.reading.reads import find_record
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.targets import Target
from heliostat.embedded.storage.keys import Key
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject, encode_json

_CONNECTIONS = ("exec", "attach", "portforward")


class Posted(Struct, frozen=True):
    """What a subresource takes by POST: its kind, where it is defined, and the API it belongs to."""

    kind: str
    definition: str
    api_versions: tuple[str, ...]
    package: str  # where kube-apiserver keeps the type

    def unlike(self, kind: object, version: object) -> RefusedError:
        short = str(version).rpartition("/")[2]
        why = why_not_convertible(kind, version, f"{self.package}.{self.kind}")
        return bad_request(f'{kind} in version "{short}" cannot be handled as a {self.kind}: {why}')


BINDING = Posted("Binding", "core.v1.Binding", ("v1",), "core")
EVICTION = Posted("Eviction", "policy.v1.Eviction", ("policy/v1", "policy/v1beta1"), "policy")
TOKEN = Posted("TokenRequest", "authentication.v1.TokenRequest", ("authentication.k8s.io/v1",), "authentication")
SCALE = Posted("Scale", SCALE_DEFINITION, ("autoscaling/v1",), "autoscaling")


class Subresources:
    def __init__(
        self,
        store: Store,
        writer: Writer,
        evictions: Evictions,
        bindings: PodBindings,
        authority: Authority,
        *,
        backend: NodeBackend | None = None,
        issuer: Issuer | None = None,
    ) -> None:
        self._store = store
        self._writer = writer
        self._evictions = evictions
        self._bindings = bindings
        self._now = authority.now
        self._nodes = NodeConnections(store, backend, authority.random_index)
        self._issuer = issuer

    async def serve(
        self, request: Request, resource: Resource, target: Target, verb: str, options: WriteOptions
    ) -> Answer | None:
        match target.subresource:
            case "scale":
                return await self._scale(request, resource, target, verb, options)
            case "binding" | "eviction" | "token":
                if verb != "create":
                    raise method_not_allowed()
                return await self._post(request, target, options)
            case "finalize" if verb != "update":
                raise method_not_allowed()
            case "log" | "exec" | "attach" | "portforward" | "proxy":
                return await self._node(request, target)
        return None

    async def bind(self, request: Request, target: Target, options: WriteOptions) -> Answer:
        """The older way: a Binding among the bindings of its namespace."""
        binding = _read(request, BINDING)
        name = (binding.get("metadata") or {}).get("name", "")
        await self._bindings.bind(binding, target.namespace, name, options)
        return _success()

    async def _post(self, request: Request, target: Target, options: WriteOptions) -> Answer:
        if target.subresource == "binding":
            await self._bindings.bind(_read(request, BINDING), target.namespace, target.name, options)
            return _success()
        if target.subresource == "eviction":
            await self._evictions.evict(_read(request, EVICTION), target.namespace, target.name, options)
            return _success()
        if self._issuer is None:
            raise no_such_path()
        wanted = _read(request, TOKEN)
        answer = answer_token_request(
            wanted, target.namespace, target.name, self._find_object, self._issuer, self._now()
        )
        return Response(201, encode_json(answer))

    def _find_object(self, resource: str, namespace: str, name: str) -> JsonObject | None:
        record = self._store.get(Key(resource, namespace, name))
        return msgspec.json.decode(record.body) if record is not None else None

    async def _scale(
        self, request: Request, resource: Resource, target: Target, verb: str, options: WriteOptions
    ) -> Answer:
        paths = resource.scale_paths
        if verb == "get":
            record = find_record(self._store, resource, target.namespace, target.name)
            return _scale_response(record.body, paths)
        if verb == "update":
            wanted = _read_scale(request, target.name)
            change = lambda tree: scaled(tree, wanted, paths)  # noqa: E731
        elif verb == "patch":
            patch = read_patch(request, msgspec.structs.replace(resource, definition=SCALE_DEFINITION))
            if isinstance(patch, Apply):
                wanted = _fit_scale(patch.body)
                change = lambda tree: scaled(tree, wanted, paths)  # noqa: E731
            else:
                change = lambda tree: scaled(tree, _patched_scale(patch, build_scale(tree, paths)), paths)  # noqa: E731
        else:
            raise method_not_allowed()
        written = await self._writer.change(resource, target.namespace, target.name, change, options)
        return _scale_response(written.body, paths)

    async def _node(self, request: Request, target: Target) -> Answer:
        if target.subresource == "log":
            if request.method not in ("GET", "HEAD"):
                raise method_not_allowed()
            return await self._nodes.read_log(request, target)
        if target.subresource in _CONNECTIONS:
            return await self._nodes.connect(request, target)
        if target.plural == "services":
            return await self._nodes.proxy_service(request, target)
        if target.plural == "nodes":
            return await self._nodes.proxy_node(request, target)
        return await self._nodes.proxy_pod(request, target)


def method_not_allowed() -> RefusedError:
    refused = never_allowed()
    return RefusedError(refused.code, refused.reason, refused.message, details={})


def _success() -> Response:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Response(201, encode_json(status))


def _scale_response(body: bytes, paths: JsonObject | None) -> Response:
    return Response(200, encode_json(build_scale(msgspec.json.decode(body), paths)))


def _read(request: Request, posted: Posted) -> JsonObject:
    tree = _read_tree(request, posted.kind)
    kind, version = tree.get("kind", posted.kind), tree.get("apiVersion", posted.api_versions[0])
    if kind != posted.kind or version not in posted.api_versions:
        raise posted.unlike(kind, version)
    return _fit(tree, posted.definition, posted.kind, str(version))


def _read_tree(request: Request, kind: str) -> JsonObject:
    try:
        return as_object(read_body(request).tree)
    except BodyError as error:
        raise unrecognized(kind, error, request.body) from None


def _fit(tree: JsonObject, definition: str, kind: str, version: str) -> JsonObject:
    try:
        fit_type(tree, definition)
    except TypedError as error:
        short = version.rpartition("/")[2]
        raise bad_request(f'{kind} in version "{short}" cannot be handled as a {kind}: {error}') from None
    return tree


def _read_scale(request: Request, name: str) -> JsonObject:
    scale = _read(request, SCALE)
    check_name_of(scale, name)
    return scale


def _patched_scale(patch: Patch, scale: JsonObject) -> JsonObject:
    patched = patch(scale)
    try:
        fit_type(patched, SCALE_DEFINITION)
    except TypedError as error:
        raise patch.refuse(patched, error) from None
    return patched


def _fit_scale(tree: JsonObject) -> JsonObject:
    return _fit(tree, SCALE_DEFINITION, "Scale", "v1")
