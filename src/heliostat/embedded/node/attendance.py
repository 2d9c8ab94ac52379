"""What goes with the containers of a node beside running them: hooks, probes, and how they are stopped.

Level-triggered: ``attend`` is told what runs now and sets everything else right, so nothing is lost over a restart.
"""

import functools
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from heliostat.embedded.node import node_events
from heliostat.embedded.node.isolating.sandbox import Sandbox
from heliostat.embedded.node.lifecycle import Health
from heliostat.embedded.node.pods import NodePod
from heliostat.embedded.node.probing.hooks import HookError, PostStartHooks, run_hook
from heliostat.embedded.node.probing.http_get import Connect
from heliostat.embedded.node.probing.probe_checks import Target
from heliostat.embedded.node.probing.probe_runner import Listeners, ProbeRunner
from heliostat.embedded.node.shim.journal import Run
from heliostat.embedded.node.stopping import Hook, Stopping


class Attendance:
    def __init__(
        self,
        sandbox_of: Callable[[str], Sandbox | None],
        address_of: Callable[[str], str],
        connect: Connect,
        to: Listeners,
    ) -> None:
        """``sandbox_of`` and ``address_of`` are asked by the UID of a Pod; ``connect`` begins where the node is."""
        self._sandbox_of = sandbox_of
        self._address_of = address_of
        self._connect = connect
        self._to = to
        self._stopping = Stopping()
        self._hooks = PostStartHooks(connect, self._hook_over, to.on_problem)
        self._probes = ProbeRunner(self._target, connect, self._hooks, to)
        self._pods: dict[str, str] = {}  # the UID of the Pod, by the id of a run

    def health(self, pod: NodePod, runs: Sequence[Run]) -> Mapping[str, Health]:
        return self._probes.health(pod, runs)

    def is_stopping(self, id_: str) -> bool:
        return self._stopping.is_stopping(id_)

    def attend(self, pod: NodePod, runs: Sequence[Run]) -> None:
        """Everything of these runs as it should be now; ``runs`` are all that the Pod ever had."""
        self._probes.attend(pod, runs)
        for run in runs:
            if run.is_over:
                self._end(run.id)

    async def start(self, pod: NodePod, name: str, id_: str, begin: Callable[[], Awaitable[None]]) -> None:
        """``begin`` the container; its postStart hook runs from then on."""
        action = pod.container(name).lifecycle.post_start
        if action is None:
            await begin()
            return
        self._pods[id_] = pod.metadata.uid
        self._hooks.expect(id_)
        try:
            await begin()
        except BaseException:  # it did not begin, so no hook will ever end the wait for it
            self._hooks.end(id_)
            raise
        target = self._target_of(pod, name, id_)
        if target is not None:
            self._hooks.begin(action, target)

    def stop(self, pod: NodePod, id_: str, name: str, seconds: float) -> None:
        """The preStop hook, TERM, and KILL after so many seconds; asked again, only an earlier end counts."""
        sandbox = self._sandbox_of(pod.metadata.uid)
        if sandbox is None:
            return
        self._stopping.stop(sandbox, id_, seconds, self._pre_stop_hook(pod, id_, name))

    def _pre_stop_hook(self, pod: NodePod, id_: str, name: str) -> Hook | None:
        """None also for a container that was never set up: what it has not begun it need not end."""
        action, target = pod.container(name).lifecycle.pre_stop, self._target_of(pod, name, id_)
        if action is None or target is None or self._hooks.state(id_).is_pending:
            return None
        return functools.partial(self._pre_stop, pod.metadata.uid, action, target)

    def keep_only(self, uids: Collection[str]) -> None:
        """Those of all other Pods are gone."""
        self._probes.keep_only(uids)
        for id_ in [id_ for id_, uid in self._pods.items() if uid not in uids]:
            self._end(id_)

    async def close(self) -> None:
        await self._stopping.close()
        await self._hooks.close()
        await self._probes.close()

    def _end(self, id_: str) -> None:
        self._hooks.end(id_)
        self._stopping.ended(id_)
        self._pods.pop(id_, None)

    async def _pre_stop(self, uid: str, action: dict[str, Any], target: Target, seconds: float) -> None:
        try:
            await run_hook(action, target, self._connect, seconds)
        except HookError as error:
            self._to.tell(uid, node_events.hook_failed("PreStop", str(error)))

    def _hook_over(self, id_: str, failed: str) -> None:
        uid = self._pods.get(id_)
        if uid is None:
            return
        if failed:
            self._to.tell(uid, node_events.hook_failed("PostStart", failed))
        self._to.on_change(uid)

    def _target(self, pod: NodePod, run: Run) -> Target | None:
        return self._target_of(pod, run.name, run.id)

    def _target_of(self, pod: NodePod, name: str, id_: str) -> Target | None:
        sandbox = self._sandbox_of(pod.metadata.uid)
        if sandbox is None:
            return None
        return Target(sandbox, id_, pod.container(name), self._address_of(pod.metadata.uid))
