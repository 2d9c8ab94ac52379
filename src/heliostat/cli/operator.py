"""``heliostat operator``: the operator for ray.io objects against any Kubernetes, until it is told to stop."""

import asyncio
import gc
import os
import socket
import time
import uuid
from collections.abc import Coroutine
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from heliostat.api.settings import Settings
from heliostat.cli.errors import CommandError
from heliostat.kube.documents import DocumentError, read_documents
from heliostat.kube.jsontree import JsonObject
from heliostat.local.child_environment import is_thrifty, read_earlier_life, use_small_buffers
from heliostat.operator.configuration import LEASE_NAME, LogOptions, OperatorProcess, build_process, parse_process_flags
from heliostat.operator.flag_help import render_help
from heliostat.operator.options import PARALLEL_WRITES, SHORT_PLAN, OperatorOptions
from heliostat.operator.permissions import Scope
from heliostat.operator.program import RayOperator
from heliostat.operator.start_up import StartUp
from heliostat.operator.usage_error import UsageError
from heliostat.ray.ways import DirectWays, ProxiedWays, open_direct_transport
from heliostat.runtime.client import Client
from heliostat.runtime.connection import AccessError, Connection
from heliostat.runtime.health_server import METRICS, PROBES, HealthServerError, Served
from heliostat.runtime.host import HostSettings
from heliostat.runtime.kubeconfig import find_connection
from heliostat.runtime.lease_decisions import LeaseSettings, LeaseSettingsError
from heliostat.runtime.logs import Log, LogSettingsError, configure_logging
from heliostat.runtime.process import ProcessSettings, Workplace, run_process
from heliostat.runtime.turn import Turn, TurnFileError, open_turn
from heliostat.runtime.watch import WatchSettings

# Looks, plans and requests leave next to no cycles behind; 700, Python's own, is reached by every other one of them.
_OBJECTS_BETWEEN_COLLECTIONS = 20_000
_HELP = ("-h", "-help", "--help")


def run(arguments: list[str]) -> int:
    if any(argument in _HELP for argument in arguments):
        print(render_help())
        return 0
    try:
        told = _read(arguments)
        _configure_logs(told.log)
        connection = _connect(told)
        settings = _process_settings(told, connection)
    except (UsageError, LogSettingsError, LeaseSettingsError) as error:
        raise CommandError(str(error)) from None
    except AccessError as error:
        raise CommandError(str(error), 1) from None
    try:
        with _find_turn(told.turn_file) as turn:
            return _run_loop(_Process(told, connection, turn).run(settings))
    except TurnFileError as error:
        raise CommandError(f"--turn-file: {error}") from None
    except (AccessError, HealthServerError) as error:
        raise CommandError(str(error), 1) from None


def _run_loop(work: Coroutine[Any, Any, int]) -> int:
    """uvloop is 2 MB; the clusters of one machine need no faster loop."""
    gc.freeze()  # modules stay: the collector need not look at them again
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
    if is_thrifty(os.environ):
        use_small_buffers()
        return asyncio.run(work)
    import uvloop

    return uvloop.run(work)


class _Process:
    """The start-up finds out on what the work stands; both share a process."""

    def __init__(self, told: OperatorProcess, connection: Connection, turn: Turn | None) -> None:
        self._told = told
        self._turn = turn
        self._log = Log("heliostat.operator")
        self._is_in_cluster = connection.is_in_cluster
        self._start_up = StartUp(
            told.settings,
            Scope(told.namespaces, _lease_namespace(told, connection)),
            log=self._log,
            has_election=told.has_election,
            uses_proxy=told.uses_proxy,
            use_ingress_on_openshift=told.use_ingress_on_openshift,
        )
        self._settings = told.settings  # until the platform is known

    async def run(self, settings: ProcessSettings) -> int:
        for warning in self._told.warnings:
            self._log.warning(warning)
        gates = ",".join(f"{name}={str(is_on).lower()}" for name, is_on in self._told.settings.gates.items())
        self._log.info("starting", gates=gates, namespaces=",".join(self._told.namespaces) or "all")
        connect = partial(_connect, self._told)
        return await run_process(
            connect, self._work, settings, log=self._log, announce=self._announce, prepare=self._prepare
        )

    async def _prepare(self, place: Workplace) -> None:
        place.health.checks.add_readiness("start-up", self._start_up.problem)
        client = Client(
            place.transport,
            clock=time.monotonic,
            request_seconds=self._told.request_seconds,
            observe=place.metrics.exchanged,
        )
        self._settings = await self._start_up.wait(client)
        if self._turn is not None:
            await self._turn.wait()

    async def _work(self, place: Workplace) -> None:
        direct = None if self._told.uses_proxy else open_direct_transport("heliostat-operator")
        ways = ProxiedWays(place.transport) if direct is None else DirectWays(direct, self._told.ray_gateway)
        operator = RayOperator(
            place.transport,
            _operator_options(self._told, self._settings),
            on_problem=place.problems.note,
            metrics=place.metrics,
            fence=place.fence,
            ways=ways,
        )
        place.health.watch_over(operator.host)
        try:
            await operator.run(place.stop, place.since)
        finally:
            if direct is not None:
                await direct.close()

    def _announce(self, text: str) -> None:
        """For people at a terminal; whoever collects a Pod's logs wants nothing but logs."""
        if self._is_in_cluster:
            self._log.info("serving", at=text)
        else:
            print(text, flush=True)


def _find_turn(path: str) -> AbstractContextManager[Turn | None]:
    return open_turn(Path(path)) if path else nullcontext()


def _read(arguments: list[str]) -> OperatorProcess:
    flags = parse_process_flags(arguments)
    return build_process(flags, os.environ, _read_file(flags.config) if flags.config else None)


def _read_file(path: str) -> JsonObject:
    try:
        documents = read_documents(Path(path).read_bytes(), path)
    except DocumentError as error:
        raise UsageError(f"cannot read the configuration: {error}") from None
    except OSError as error:
        raise UsageError(f"cannot read the configuration {path}: {error.strerror}") from None
    if len(documents) != 1:
        raise UsageError(f"{path} must hold one configuration document, and holds {len(documents)}")
    return documents[0].tree


def _configure_logs(log: LogOptions) -> None:
    configure_logging(log.level, log.format)
    if log.file:
        from heliostat.runtime.log_file import add_log_file

        add_log_file(log.file, log.file_format)


def _connect(told: OperatorProcess) -> Connection:
    return find_connection(os.environ, Path(told.kubeconfig) if told.kubeconfig else None, told.context)


def _lease_namespace(told: OperatorProcess, connection: Connection) -> str:
    """Differs from KubeRay: lease-namespace."""
    return told.lease_namespace or connection.namespace


def _process_settings(told: OperatorProcess, connection: Connection) -> ProcessSettings:
    lease = LeaseSettings(
        namespace=_lease_namespace(told, connection),
        name=LEASE_NAME,
        identity=f"{socket.gethostname()}_{uuid.uuid4()}",
        lease_seconds=told.lease_times.lease,
        renew_deadline_seconds=told.lease_times.renew,
        retry_seconds=told.lease_times.retry,
        request_seconds=told.request_seconds,
    )
    return ProcessSettings(
        lease=lease if told.has_election else None,
        request_seconds=told.request_seconds,
        serves=_list_served(told, is_in_cluster=connection.is_in_cluster),
        user_agent="heliostat-operator",
        earlier_ended=read_earlier_life(os.environ),
    )


def _list_served(told: OperatorProcess, *, is_in_cluster: bool) -> tuple[Served, ...]:
    """Differs from KubeRay: loopback."""
    asked = (("metrics", told.metrics_at, METRICS), ("health", told.probes_at, PROBES))
    return tuple(
        Served(name, address.bound(is_in_cluster=is_in_cluster).host, address.port, pages)
        for name, address, pages in asked
        if address is not None
    )


def _operator_options(told: OperatorProcess, settings: Settings) -> OperatorOptions:
    return OperatorOptions(
        settings=settings,
        namespaces=told.namespaces,
        instance=f"heliostat-{socket.gethostname()}",
        request_seconds=told.request_seconds,
        qps=told.qps,
        burst=told.burst,
        has_kuberay_metrics=told.has_kuberay_metrics,
        host=HostSettings(
            workers=told.concurrency,
            parallel_writes=PARALLEL_WRITES,
            short_plan=SHORT_PLAN,
            watch=WatchSettings().lasting(told.watch_seconds),
        ),
    )
