"""What the operator finds out before it leads: the platform, its own kinds, and its rights."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from heliostat.api.crds import all_crds
from heliostat.api.settings import Settings, default_gates
from heliostat.operator.permissions import Missing, Scope, explain_missing, format_rule, observe_missing
from heliostat.operator.platform import Platform, apply_platform, list_missing, observe_platform
from heliostat.operator.rights import Need, build_rules, needs_of, rights_for
from heliostat.operator.start_up import StartUp
from heliostat.runtime.client import Client
from heliostat.runtime.https_transport import HttpsTransport
from heliostat.runtime.kubeconfig import load_connection
from heliostat.runtime.logs import Log
from heliostat.runtime.transport import Call, Chunks, Reply
from heliostat.testing import ApiServer
from heliostat.testing.virtual_time import run_virtual

pytestmark = pytest.mark.slow

RBAC = "/apis/rbac.authorization.k8s.io/v1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
EVERYWHERE = Scope((), "ray-system")
NOWHERE = Platform(frozenset(), frozenset(), has_ray_clusters=True, version=(1, 34))


def play(tmp_path: Path, scenario: Callable[[ApiServer, Client], Coroutine[Any, Any, None]], user: str = "") -> None:
    """``user`` is somebody without any rights; nobody named is the administrator."""

    async def run() -> None:
        async with asyncio.timeout(60), ApiServer() as server:
            kubeconfig = server.kubeconfig
            if user:
                kubeconfig = tmp_path / "kubeconfig"
                kubeconfig.write_text(server.build_kubeconfig(user))
            transport = HttpsTransport(load_connection([kubeconfig], {}))
            try:
                await scenario(server, Client(transport, clock=time.monotonic))
            finally:
                await transport.close()

    asyncio.run(run())


async def install_crds(server: ApiServer) -> None:
    for tree in all_crds(slim=True):
        await server.request("POST", CRDS, tree)


async def grant(server: ApiServer, user: str, rules: list[dict[str, Any]], namespace: str = "") -> None:
    """To this user, in this namespace or everywhere."""
    kinds = ("Role", "RoleBinding") if namespace else ("ClusterRole", "ClusterRoleBinding")
    path = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
    metadata = {"name": f"for-{user}"}
    role = {"kind": kinds[0], "metadata": metadata, "rules": rules}
    binding = {
        "kind": kinds[1],
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kinds[0], "name": metadata["name"]},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    for tree in (role, binding):
        api_version = {"apiVersion": "rbac.authorization.k8s.io/v1"}
        await server.request("POST", f"{path}/{tree['kind'].lower()}s", {**api_version, **tree})  # type: ignore[attr-defined]


def with_gates(*names: str, **values: Any) -> Settings:
    return Settings(gates={**default_gates(), **dict.fromkeys(names, True)}, **values)


class TestPlatform:
    def test_our_kinds_are_found_once_they_are_installed(self, tmp_path: Path) -> None:
        async def scenario(server: ApiServer, client: Client) -> None:
            before = await observe_platform(client)
            assert not before.has_ray_clusters
            assert "heliostat crds | kubectl apply --server-side -f -" in list_missing(Settings(), before)[0]
            await install_crds(server)
            after = await observe_platform(client)
            assert list_missing(Settings(), after) == []
            assert "ray.io" in after.groups
            assert not after.is_openshift
            assert after.version >= (1, 30)

        play(tmp_path, scenario)

    @pytest.mark.parametrize("group", ["route.openshift.io", "security.openshift.io", "config.openshift.io"])
    def test_openshift_is_told_by_its_groups(self, group: str) -> None:
        platform = Platform(frozenset({group}), frozenset(), has_ray_clusters=True, version=(1, 34))
        assert apply_platform(Settings(), platform, use_ingress_on_openshift=False).openshift_route
        assert not apply_platform(Settings(), platform, use_ingress_on_openshift=True).openshift_route
        assert not apply_platform(Settings(), NOWHERE, use_ingress_on_openshift=False).openshift_route

    def test_cert_manager_counts_in_its_version_alone(self) -> None:
        for version, expected in (("cert-manager.io/v1", True), ("cert-manager.io/v1alpha2", False)):
            platform = Platform(frozenset({"cert-manager.io"}), frozenset({version}), True, (1, 34))
            assert apply_platform(Settings(), platform, use_ingress_on_openshift=False).cert_manager is expected

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            (with_gates(batch_scheduler="volcano"), "PodGroup of scheduling.volcano.sh/v1beta1 is not served"),
            (with_gates(batch_scheduler="scheduler-plugins"), "scheduling.x-k8s.io/v1alpha1"),
            (with_gates("KubernetesWAS"), "Workload of scheduling.k8s.io/v1alpha2"),
            (with_gates("SidecarSubmitterRestart"), "needs Kubernetes 1.35, this is 1.34"),
        ],
    )
    def test_what_was_asked_for_and_is_not_there_is_named(self, settings: Settings, words: str) -> None:
        (problem,) = list_missing(settings, NOWHERE)
        assert words in problem

    @pytest.mark.parametrize("scheduler", ["", "yunikorn", "kai-scheduler"])
    def test_schedulers_without_objects_need_nothing(self, scheduler: str) -> None:
        assert list_missing(with_gates(batch_scheduler=scheduler), NOWHERE) == []


class TestPermissions:
    needs = needs_of(Settings())

    def test_the_administrator_may_do_everything(self, tmp_path: Path) -> None:
        async def scenario(_server: ApiServer, client: Client) -> None:
            assert await observe_missing(client, rights_for(frozenset(Need)), EVERYWHERE) == ()

        play(tmp_path, scenario)

    def test_somebody_without_rights_is_told_all_of_them(self, tmp_path: Path) -> None:
        async def scenario(_server: ApiServer, client: Client) -> None:
            rights = rights_for(self.needs)
            missing = await observe_missing(client, rights, EVERYWHERE)
            assert [one.right for one in missing] == list(rights)
            assert {one.namespace for one in missing} == {"", "ray-system"}, "the lease is in its own namespace"

        play(tmp_path, scenario, user="nobody")

    def test_the_rules_of_the_table_are_enough(self, tmp_path: Path) -> None:
        async def scenario(server: ApiServer, client: Client) -> None:
            await grant(server, "operator", build_rules(rights_for(self.needs)))
            assert await observe_missing(client, rights_for(self.needs), EVERYWHERE) == ()

        play(tmp_path, scenario, user="operator")

    def test_one_missing_verb_is_told_alone(self, tmp_path: Path) -> None:
        async def scenario(server: ApiServer, client: Client) -> None:
            rules = build_rules(rights_for(self.needs))
            (whole,) = [rule for rule in rules if "pods" in rule["resources"]]
            whole["resources"].remove("pods")  # others may have the same verbs
            rules.append(
                {**whole, "resources": ["pods"], "verbs": [verb for verb in whole["verbs"] if verb != "delete"]}
            )
            await grant(server, "operator", [rule for rule in rules if rule["resources"]])
            missing = await observe_missing(client, rights_for(self.needs), EVERYWHERE)
            expected = "add to the rules of its ClusterRole:\n- {apiGroups: [''], resources: [pods], verbs: [delete]}"
            assert explain_missing(missing) == expected

        play(tmp_path, scenario, user="operator")

    def test_rights_in_the_watched_namespaces_are_enough(self, tmp_path: Path) -> None:
        async def scenario(server: ApiServer, client: Client) -> None:
            rights = rights_for(self.needs - {Need.ELECTION})
            await grant(server, "operator", build_rules(rights), "default")
            assert await observe_missing(client, rights, Scope(("default",), "default")) == ()
            elsewhere = await observe_missing(client, rights, Scope(("default", "kube-public"), "default"))
            assert {one.namespace for one in elsewhere} == {"kube-public"}
            assert "a Role in namespace kube-public" in explain_missing(elsewhere)

        play(tmp_path, scenario, user="operator")


class SlowReviews:
    """Allows everything, and takes its time."""

    def __init__(self) -> None:
        self.asked = 0

    async def send(self, call: Call, seconds: float) -> Reply:
        self.asked += 1
        await asyncio.sleep(0.5)
        return Reply(201, b'{"status":{"allowed":true}}')

    async def open(self, call: Call, seconds: float) -> Reply | Chunks:
        raise AssertionError("nothing is watched here")

    async def close(self) -> None:
        pass


def test_the_rights_in_a_hundred_namespaces_are_asked_for_within_the_deadline_of_each_question() -> None:
    async def scenario() -> None:
        transport = SlowReviews()
        client = Client(transport, clock=asyncio.get_running_loop().time, request_seconds=4.0)
        rights = rights_for(needs_of(Settings()))
        scope = Scope(tuple(f"team-{number}" for number in range(100)), "ray-system")
        assert await observe_missing(client, rights, scope) == ()
        assert transport.asked > 3000

    run_virtual(scenario())


def test_a_rule_is_one_line_of_yaml() -> None:
    (rule, *_) = build_rules(rights_for(frozenset({Need.ELECTION})))
    line = "- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}"
    assert format_rule(rule) == line


def test_nothing_missing_says_nothing() -> None:
    nothing: tuple[Missing, ...] = ()
    assert explain_missing(nothing) == ""


class TestWaiting:
    def start_up(self) -> StartUp:
        return StartUp(Settings(), EVERYWHERE, log=Log("test"), again_seconds=0.01)

    def test_it_waits_for_our_kinds_and_then_goes_on(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        async def scenario(server: ApiServer, client: Client) -> None:
            start_up = self.start_up()
            waiting = asyncio.create_task(start_up.wait(client))
            while "is not served" not in (start_up.problem() or ""):
                await asyncio.sleep(0.01)
            assert not waiting.done()
            await install_crds(server)
            settings = await waiting
            assert start_up.problem() is None
            assert (settings.cert_manager, settings.openshift_route) == (False, False)

        play(tmp_path, scenario)
        assert caplog.text.count("cannot start yet") == 1, "the same problem is told once"

    def test_it_waits_for_required_rights(self, tmp_path: Path) -> None:
        async def scenario(server: ApiServer, client: Client) -> None:
            await install_crds(server)
            start_up = self.start_up()
            waiting = asyncio.create_task(start_up.wait(client))
            while "resources: [pods" not in (start_up.problem() or ""):
                await asyncio.sleep(0.01)
            await grant(server, "operator", build_rules(rights_for(needs_of(Settings()))))
            await waiting
            assert start_up.problem() is None

        play(tmp_path, scenario, user="operator")

    def test_it_goes_on_without_rights_that_only_some_clusters_need(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def scenario(server: ApiServer, client: Client) -> None:
            await install_crds(server)
            required = tuple(right for right in rights_for(needs_of(Settings())) if right.is_required)
            await grant(server, "operator", build_rules(required))
            start_up = self.start_up()
            await start_up.wait(client)
            assert start_up.problem() is None

        play(tmp_path, scenario, user="operator")
        told = [record for record in caplog.records if "a right is missing" in record.message]
        optional = [right for right in rights_for(needs_of(Settings())) if not right.is_required]
        assert len(told) == len(optional)

    def test_a_server_that_is_not_there_is_waited_for(self) -> None:
        async def scenario() -> None:
            async with ApiServer() as server:
                connection = load_connection([server.kubeconfig], {})
            transport = HttpsTransport(connection)
            start_up = self.start_up()
            waiting = asyncio.create_task(start_up.wait(Client(transport, clock=time.monotonic, request_seconds=0.5)))
            async with asyncio.timeout(10):
                while "cannot be asked" not in (start_up.problem() or ""):
                    await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await transport.close()

        asyncio.run(scenario())

    def test_a_page_in_the_place_of_an_answer_is_waited_out(self) -> None:
        class Doorman:
            """A proxy that wants a password first."""

            async def send(self, _call: Call, _seconds: float) -> Reply:
                return Reply(200, b"<html>who are you?</html>")

            async def open(self, call: Call, seconds: float) -> Reply | Chunks:
                return await self.send(call, seconds)

            async def close(self) -> None:
                pass

        async def scenario() -> None:
            start_up = self.start_up()
            waiting = asyncio.create_task(start_up.wait(Client(Doorman(), clock=time.monotonic)))
            async with asyncio.timeout(10):
                while "JSON is malformed" not in (start_up.problem() or ""):
                    await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

        asyncio.run(scenario())
