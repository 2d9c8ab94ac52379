"""Access through the real server: certificates for users, rights as they change, questions about them."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

from heliostat.testing import ApiServer
from testing.test_apiserver import client_context

MAPS = "/api/v1/namespaces/default/configmaps"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def as_user(
    tmp_path: Path,
    user: str,
    groups: tuple[str, ...],
    test: Callable[[ApiServer, aiohttp.ClientSession], Awaitable[None]],
) -> None:
    async def run() -> None:
        async with ApiServer() as server:
            kubeconfig = tmp_path / "user"
            kubeconfig.write_text(server.build_kubeconfig(user, groups))
            connector = aiohttp.TCPConnector(ssl=client_context(kubeconfig))
            async with aiohttp.ClientSession(server.address, connector=connector) as session, asyncio.timeout(20):
                await test(server, session)

    asyncio.run(run())


async def get(session: aiohttp.ClientSession, path: str) -> tuple[int, Any]:
    async with session.get(path) as answer:
        return answer.status, await answer.json()


def test_a_user_may_do_what_a_role_says_and_only_while_it_says_so(tmp_path: Path) -> None:
    async def test(server: ApiServer, session: aiohttp.ClientSession) -> None:
        status, answer = await get(session, MAPS)
        assert (status, answer["reason"]) == (403, "Forbidden")
        assert answer["message"] == (
            'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace'
            ' "default"'
        )
        binding = {
            "kind": "RoleBinding",
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "metadata": {"name": "b"},
            "subjects": [{"kind": "Group", "name": "team", "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"},
        }
        await server.request("POST", f"{RBAC}/namespaces/default/rolebindings", binding)
        assert (await get(session, MAPS))[0] == 200
        assert (await get(session, "/api/v1/namespaces/kube-system/configmaps"))[0] == 403
        async with session.post(
            MAPS, json={"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}
        ) as answer:
            assert answer.status == 403
        await server.request("DELETE", f"{RBAC}/namespaces/default/rolebindings/b")
        assert (await get(session, MAPS))[0] == 403

    as_user(tmp_path, "jane", ("team",), test)


def test_everybody_may_ask_who_they_are_and_what_they_may(tmp_path: Path) -> None:
    async def test(_server: ApiServer, session: aiohttp.ClientSession) -> None:
        question = {
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}},
        }
        async with session.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json=question) as answer:
            assert answer.status == 201
            assert (await answer.json())["status"]["allowed"] is False
        who = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
        async with session.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json=who) as answer:
            assert (await answer.json())["status"]["userInfo"]["username"] == "jane"

    as_user(tmp_path, "jane", (), test)


async def ask_who_i_am(session: aiohttp.ClientSession, headers: dict[str, str]) -> tuple[int, Any]:
    who = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    async with session.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json=who, headers=headers) as answer:
        return answer.status, await answer.json() if answer.content_type == "application/json" else await answer.text()


def test_an_administrator_acts_as_somebody_else_with_that_user_s_rights(tmp_path: Path) -> None:
    async def test(_server: ApiServer, session: aiohttp.ClientSession) -> None:
        headers = {"Impersonate-User": "eve", "Impersonate-Group": "team"}
        status, answer = await ask_who_i_am(session, headers)
        groups = ["team", "system:authenticated"]
        assert (status, answer["status"]["userInfo"]) == (201, {"username": "eve", "groups": groups})
        async with session.get(MAPS, headers=headers) as refused:
            assert refused.status == 403
            assert 'User "eve" cannot list resource "configmaps"' in (await refused.json())["message"]

    as_user(tmp_path, "jane", ("system:masters",), test)


def test_nobody_else_becomes_somebody_else(tmp_path: Path) -> None:
    async def test(_server: ApiServer, session: aiohttp.ClientSession) -> None:
        status, answer = await ask_who_i_am(session, {"Impersonate-User": "system:admin"})
        assert (status, answer["message"]) == (
            403,
            (
                'users "system:admin" is forbidden: User "jane" cannot impersonate resource "users" in API group ""'
                " at the cluster scope"
            ),
        )

    as_user(tmp_path, "jane", ("system:authenticated",), test)


def test_a_group_without_a_user_is_told_in_plain_text(tmp_path: Path) -> None:
    async def test(_server: ApiServer, session: aiohttp.ClientSession) -> None:
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        text = f'Internal Server Error: "{path}": requested [{{Group  team    }}] without impersonating a user\n'
        assert await ask_who_i_am(session, {"Impersonate-Group": "team"}) == (500, text)

    as_user(tmp_path, "jane", ("system:masters",), test)


def test_nobody_gives_rights_they_do_not_have(tmp_path: Path) -> None:
    async def test(server: ApiServer, session: aiohttp.ClientSession) -> None:
        rules = [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"]}]
        role = {"kind": "Role", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "r"}, "rules": rules}
        await server.request("POST", f"{RBAC}/namespaces/default/roles", {**role, "metadata": {"name": "keeper"}})
        binding = {
            "kind": "RoleBinding",
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "metadata": {"name": "keeper"},
            "subjects": [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"kind": "Role", "name": "keeper", "apiGroup": "rbac.authorization.k8s.io"},
        }
        await server.request("POST", f"{RBAC}/namespaces/default/rolebindings", binding)
        for body, expected in (
            (role, 201),
            (
                {
                    **role,
                    "metadata": {"name": "s"},
                    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
                },
                403,
            ),
        ):
            async with session.post(f"{RBAC}/namespaces/default/roles", json=body) as answer:
                assert answer.status == expected, await answer.text()

    as_user(tmp_path, "jane", (), test)


def test_a_service_account_comes_in_with_its_token_until_it_is_deleted(tmp_path: Path) -> None:
    async def test(server: ApiServer, _session: aiohttp.ClientSession) -> None:
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        await server.request(
            "POST", accounts, {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "bot"}}
        )
        wish = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {}}
        token = (await server.request("POST", f"{accounts}/bot/token", wish))["status"]["token"]
        trusting = aiohttp.TCPConnector(ssl=client_context(server.kubeconfig, with_certificate=False))
        who = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
        path, headers = "/apis/authentication.k8s.io/v1/selfsubjectreviews", {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(server.address, connector=trusting, headers=headers) as bot:
            async with bot.post(path, json=who) as answer:
                user = (await answer.json())["status"]["userInfo"]
                assert user["username"] == "system:serviceaccount:default:bot"
            await server.request("DELETE", f"{accounts}/bot")
            async with bot.post(path, json=who) as answer:
                assert answer.status == 401

    as_user(tmp_path, "jane", (), test)
