"""The server put together over a store, without a network: what the fixture, the simulator and HTTPS all run.

It owns the registry, keeps it in step with the CustomResourceDefinitions in the store, and makes sure the
namespaces that every cluster has are there.
"""

from collections.abc import Callable

import msgspec

from heliostat.embedded.access.token_requests import Issuer
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.kinds.first_objects import build_first_objects
from heliostat.embedded.server.admission.kind_admission import AdmissionOptions, KindAdmission
from heliostat.embedded.server.admission.review import Admission
from heliostat.embedded.server.changes.evictions import Evictions
from heliostat.embedded.server.changes.field_tracking import FieldTracking
from heliostat.embedded.server.changes.pod_bindings import PodBindings
from heliostat.embedded.server.changes.subresources import Subresources
from heliostat.embedded.server.changes.writes import Writer
from heliostat.embedded.server.changes.writing import AfterWrite, Guard, WriteOptions, WriteParts
from heliostat.embedded.server.custom.definitions import CRDS, Definitions
from heliostat.embedded.server.describing.review_answers import ReviewAnswers
from heliostat.embedded.server.describing.server_paths import ServerPaths
from heliostat.embedded.server.documents.object_reader import ObjectReader
from heliostat.embedded.server.handler import ApiHandler, Authorize, PathHandler
from heliostat.embedded.server.messages import Answer, Request
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.server.metrics_api import METRICS_GROUP, MetricsApi
from heliostat.embedded.server.nodes.node_backend import NodeBackend
from heliostat.embedded.server.registry import Registry
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.errors import StorageError
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.store import Store
from heliostat.kube.jsontree import JsonObject

ADMIN = User("system:admin", groups=(MASTERS,))
FIRST_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class ApiCore:
    def __init__(
        self,
        store: Store,
        authority: Authority,
        authorize: Authorize,
        *,
        on_bug: Callable[[BaseException], None],
        other_paths: tuple[PathHandler, ...] = (),
        listeners: tuple[AfterWrite, ...] = (),
        reviews: ReviewAnswers | None = None,
        guard: Guard | None = None,
        with_previews: bool = False,
        admission_options: AdmissionOptions | None = None,
        node_backend: NodeBackend | None = None,
        token_issuer: Issuer | None = None,
    ) -> None:
        self.store = store
        self.registry = Registry(with_previews=with_previews)
        self.authority = authority
        kinds = KindAdmission(store, self._builtin("resourcequotas"), authority, on_bug, admission_options)
        crds = self._builtin("customresourcedefinitions", "apiextensions.k8s.io")
        self._definitions = Definitions(store, self.registry, authority, crds)
        admission = Admission(store, self.registry, authority, kinds, self._definitions)
        self._told = (admission.written, *listeners)
        tracking = FieldTracking(self.registry, authority.now)
        reader = ObjectReader(self.registry.find_kind)
        self.writer = Writer(WriteParts(store, authority, admission, self._written, tracking, reader, guard))
        metrics = MetricsApi(store, self._builtin("pods"), node_backend, authority.now) if node_backend else None
        checks = {"ping": lambda: "", "storage": self._storage_problem}
        paths = ServerPaths(self.registry, checks, (METRICS_GROUP,) if metrics is not None else ())
        budgets = self._builtin("poddisruptionbudgets", "policy")
        pods = self._builtin("pods")
        evictions = Evictions(store, self.writer, authority, pods, budgets)
        bindings = PodBindings(self.writer, authority, pods)
        self._handler = ApiHandler(
            store,
            self.registry,
            self.writer,
            authorize,
            other_paths=(*other_paths, *((metrics.handle,) if metrics is not None else ()), paths.handle),
            reviews=reviews,
            on_bug=on_bug,
            now=authority.now,
            tracking=tracking,
            subresources=Subresources(
                store, self.writer, evictions, bindings, authority, backend=node_backend, issuer=token_issuer
            ),
        )
        for record in store.page(Scope(CRDS)).records:
            crd = msgspec.json.decode(record.body)
            self._definitions.serve(crd)

    def _builtin(self, plural: str, group: str = "", version: str = "v1") -> Resource:
        resource = self.registry.find(group, version, plural)
        if resource is None:
            raise RuntimeError(f"the table of core kinds has no {plural}")
        return resource

    async def bootstrap(self) -> None:
        """What a new cluster has before anybody asks for anything."""
        resource = self.registry.find("", "v1", "namespaces")
        if resource is None:
            raise RuntimeError("the table of core kinds has no Namespace")
        for name in FIRST_NAMESPACES:
            if self.store.get(Key(resource.storage_name, "", name)) is None:
                tree = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}
                await self.writer.create(tree, resource, "", WriteOptions())
        for record in self.store.page(Scope(CRDS)).records:  # what the end of a server has interrupted
            await self._definitions.settle(record.key.name, self.writer.delete)
        for tree in build_first_objects():
            await self._create_if_absent(tree)

    async def _create_if_absent(self, tree: JsonObject) -> None:
        resource = self.registry.find_kind(tree["apiVersion"], tree["kind"])
        if resource is None:
            raise RuntimeError(f"the table of core kinds has no {tree['kind']}")
        namespace = tree["metadata"].get("namespace", "")
        if self.store.get(Key(resource.storage_name, namespace, tree["metadata"]["name"])) is None:
            await self.writer.create(tree, resource, namespace, WriteOptions())

    def _written(self, tree: JsonObject, resource: Resource, *, deleted: bool) -> None:
        for tell in self._told:
            tell(tree, resource, deleted=deleted)

    def _storage_problem(self) -> str:
        try:
            return "" if self.store.revision >= 0 else "unreachable"
        except StorageError as error:
            return str(error)

    async def handle(self, request: Request) -> Answer:
        return await self._handler.handle(request)
