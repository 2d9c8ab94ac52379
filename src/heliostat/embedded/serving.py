"""A whole API server: store, handlers, access and HTTPS put together, with a beginning and an end.

``EmbeddedServer`` is what ``heliostat apiserver`` and the test fixture both run. With a data directory everything
survives the process; without one everything ends with it.
"""

import asyncio
import random
import time
import uuid
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec import Struct

from heliostat.embedded.access.attributes import Attributes, build_forbidden
from heliostat.embedded.access.authenticate import Authenticator
from heliostat.embedded.access.certificates import build_client_certificate, server_names
from heliostat.embedded.access.default_roles import plan_defaults
from heliostat.embedded.access.escalation import decide_write
from heliostat.embedded.access.identity import Identity, load_identity, new_identity
from heliostat.embedded.access.kubeconfig import build_kubeconfig
from heliostat.embedded.access.listening import build_gate, refuse_exposure
from heliostat.embedded.access.private_files import make_private_directory
from heliostat.embedded.access.rbac import Policy
from heliostat.embedded.access.service_account_tokens import Existing, read_existing
from heliostat.embedded.access.tls import build_server_context
from heliostat.embedded.access.token_requests import Issuer
from heliostat.embedded.access.token_signing import TokenSigner, TokenVerifier
from heliostat.embedded.access.tokens import CheckToken, StaticTokens, check_each
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.server.admission.kind_admission import AdmissionOptions
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.describing.issuer_discovery import IssuerDiscovery
from heliostat.embedded.server.describing.review_answers import ReviewAnswers
from heliostat.embedded.server.front.http import Doorkeeper, Handle, HttpServer
from heliostat.embedded.server.limits import Limits
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.server.nodes.node_backend import NodeBackend
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.compaction import keep_compacting
from heliostat.embedded.storage.keys import Key, Scope
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.retention import Retention
from heliostat.embedded.storage.sqlite_file import Synchronous
from heliostat.embedded.storage.sqlite_journal import SqliteJournal
from heliostat.embedded.storage.store import Store
from heliostat.kube.hidden import Hidden
from heliostat.kube.jsontree import JsonObject, encode_json

if TYPE_CHECKING:
    from heliostat.embedded.history.recorder import HistoryOptions
    from heliostat.embedded.own_controllers import ControllerOptions, OwnControllers

AUDIENCE = "https://kubernetes.default.svc.cluster.local"
RBAC_GROUP = "rbac.authorization.k8s.io"
RBAC_PLURALS = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
ADMIN_NAME = "heliostat-admin"


class ServerOptions(Struct, frozen=True, kw_only=True):
    data: Path | None = None  # None: in memory
    host: str = "127.0.0.1"
    port: int = 0
    synchronous: Synchronous = "FULL"
    retention: Retention = Retention()
    admission: AdmissionOptions = AdmissionOptions()
    controllers: "ControllerOptions | None" = None  # Kubernetes' own controllers, in this process
    history: "HistoryOptions | None" = None  # which objects are remembered when they are gone, and where
    limits: Limits = Limits()
    with_previews: bool = False  # serve alpha and beta versions of built-in kinds too
    tokens: tuple[tuple[Hidden, User], ...] = ()  # bearer tokens that are accepted besides client certificates


class EmbeddedServer:
    def __init__(
        self,
        options: ServerOptions,
        *,
        on_bug: Callable[[BaseException], None],
        around: Callable[[Handle], Handle] | None = None,
        node_backend: NodeBackend | None = None,
    ) -> None:
        """``around`` may put something between the network and the handlers; tests put faults there.

        ``node_backend`` runs Pods: logs, commands, ports and proxies end there.
        """
        self._options = options
        self._on_bug = on_bug
        self._around = around
        self._node_backend = node_backend
        self._ends = AsyncExitStack()
        self._policy = Policy()
        self._controllers: OwnControllers | None = None
        self.port = 0

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:  # also a cancellation: half a server must not be left running
            await self._ends.aclose()
            raise
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self._ends.aclose()

    @property
    def address(self) -> str:
        return f"https://{self._options.host}:{self.port}"

    def build_kubeconfig(self, user: str = ADMIN_NAME, groups: tuple[str, ...] = (MASTERS,)) -> Hidden:
        """A kubeconfig with a client certificate for this user, signed by our own authority."""
        client = build_client_certificate(self._identity.authority, user, groups, time.time())
        return build_kubeconfig(self.address, self._identity.authority.certificate, client)

    async def wait_ended(self) -> BaseException:
        """Until the store or the controllers have failed; the process must then exit and start again."""
        endings: list[Coroutine[Any, Any, BaseException]] = [self.store.wait_ended()]
        if self._controllers is not None:
            endings.append(self._controllers.wait_ended())
        tasks = [asyncio.ensure_future(ending) for ending in endings]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for task in tasks:
                task.cancel()

    async def _start(self) -> None:
        options = self._options
        refusal = refuse_exposure(options.host, has_tls=True, has_authentication=True)
        if refusal is not None:
            raise refusal
        self._identity = self._load_identity()
        self.store = await self._ends.enter_async_context(Store(self._open_journal()))
        self._start_history()
        check_token = self._build_token_check()
        self._authenticator = Authenticator(check_token, (AUDIENCE,))
        signer = TokenSigner(self._identity.signing_key)
        self.core = ApiCore(
            self.store,
            _system_authority(),
            self._authorize,
            on_bug=self._on_bug,
            other_paths=(IssuerDiscovery(AUDIENCE, signer.build_key_set()).handle,),
            listeners=(self._notice,),
            guard=self._guard_rights,
            with_previews=options.with_previews,
            admission_options=self._admission(),
            node_backend=self._node_backend,
            token_issuer=Issuer(signer.sign, lambda: str(uuid.uuid4())),
            reviews=ReviewAnswers(self._policy, check_token, (AUDIENCE,), time.time),
        )
        for plural in RBAC_PLURALS:
            for record in self.store.page(Scope(f"{plural}.{RBAC_GROUP}")).records:
                self._policy.put(msgspec.json.decode(record.body))
        await self.core.bootstrap()
        await self._bootstrap_roles()
        self._start_compaction()
        await self._listen()
        await self._start_controllers()

    def _admission(self) -> AdmissionOptions:
        """What needs controllers is on where they are."""
        if self._options.controllers is None:
            return self._options.admission
        return AdmissionOptions(service_accounts=True, storage_protection=True, tells_unserved=True)

    async def _start_controllers(self) -> None:
        if self._options.controllers is None:
            return
        from heliostat.embedded.own_controllers import OwnControllers  # noqa: PLC0415  a server alone is smaller by 4 MB

        self._controllers = OwnControllers(
            self.core.handle,
            self._options.controllers,
            root_certificate=self._identity.authority.certificate,
            data=self._options.data,
            on_bug=self._on_bug,
        )
        self._ends.push_async_callback(self._controllers.stop)
        await self._controllers.start()

    def _open_journal(self) -> MemoryJournal | SqliteJournal:
        if self._options.data is None:
            return MemoryJournal()
        return SqliteJournal(self._options.data / "state.db", self._options.synchronous)

    def _load_identity(self) -> Identity:
        now = time.time()
        extra = (self._options.host,)
        if self._options.data is None:
            return new_identity(now, extra)
        make_private_directory(self._options.data)
        return load_identity(self._options.data / "keys", now, extra)

    def _build_token_check(self) -> CheckToken:
        """Static tokens, then those of ServiceAccounts that are still there."""
        static = StaticTokens(self._options.tokens, (AUDIENCE,))
        verifier = TokenVerifier((self._identity.signing_key,), AUDIENCE, self._find_bound)
        return check_each(static.check, verifier.check)

    def _find_bound(self, resource: str, namespace: str, name: str) -> Existing | None:
        record = self.store.get(Key(resource, namespace, name))
        if record is None:
            return None
        return read_existing(msgspec.json.decode(record.body))

    def _start_history(self) -> None:
        if self._options.history is None:
            return
        from heliostat.embedded.history.recorder import keep_history  # noqa: PLC0415  few remember

        keeping = keep_history(self.store, self._options.history, on_problem=self._on_bug)
        self._ends.push_async_callback(_cancel, asyncio.create_task(keeping, name="history"))

    def _start_compaction(self) -> None:
        task = asyncio.create_task(keep_compacting(self.store, self._options.retention))
        self._ends.push_async_callback(_cancel, task)

    async def _listen(self) -> None:
        names = (*server_names((self._options.host,)), "localhost")
        doorkeeper = Doorkeeper(self._authenticator, build_gate(names), self._policy.decide, time.time)
        handle = self._around(self.core.handle) if self._around else self.core.handle
        server = HttpServer(handle, doorkeeper, self._options.limits, self._on_bug)
        tls = build_server_context(self._identity.server, self._identity.authority.certificate)
        self.port = await server.start(self._options.host, self._options.port, tls)
        self._ends.push_async_callback(server.stop)

    def _authorize(self, user: User, attributes: Attributes) -> None:
        decision = self._policy.decide(user, attributes)
        if not decision.allowed:
            raise build_forbidden(user, attributes, decision.reason)

    def _guard_rights(self, user: User, resource: Resource, new: JsonObject, old: JsonObject | None) -> None:
        """Nobody gives rights that they do not have."""
        if resource.group == RBAC_GROUP:
            namespace = new["metadata"].get("namespace", "")
            refused = decide_write(self._policy, user, namespace, {**new, "kind": resource.kind}, old)
            if refused is not None:
                raise refused

    def _notice(self, tree: JsonObject, resource: Resource, *, deleted: bool) -> None:
        """Rights change with the write that changes them."""
        if resource.group != RBAC_GROUP:
            return
        if deleted:
            metadata = tree["metadata"]
            self._policy.remove(resource.kind, metadata.get("namespace", ""), metadata["name"])
        else:
            self._policy.put({**tree, "kind": resource.kind})

    async def _bootstrap_roles(self) -> None:
        existing = {}
        for plural in ("clusterroles", "clusterrolebindings"):
            for record in self.store.page(Scope(f"{plural}.{RBAC_GROUP}")).records:
                tree = msgspec.json.decode(record.body)
                existing[(tree["kind"], tree["metadata"]["name"])] = tree
        admin = User(ADMIN_NAME, groups=(MASTERS,))
        for tree in plan_defaults(existing):
            plural = "clusterroles" if tree["kind"] == "ClusterRole" else "clusterrolebindings"
            path = f"/apis/{RBAC_GROUP}/v1/{plural}"
            is_new = (tree["kind"], tree["metadata"]["name"]) not in existing
            request = Request(
                method="POST" if is_new else "PUT",
                path=path if is_new else f"{path}/{tree['metadata']['name']}",
                user=admin,
                body=encode_json(tree),
            )
            answer = await self.core.handle(request)
            if answer.status >= 400:
                raise RuntimeError(f"cannot make the default {tree['kind']} {tree['metadata']['name']}: {answer}")


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _system_authority() -> Authority:
    chance = random.Random()  # noqa: S311 - for suffixes of names and free addresses, as Kubernetes draws them
    return Authority(now=time.time, new_uid=lambda: str(uuid.uuid4()), random_index=chance.randrange)
