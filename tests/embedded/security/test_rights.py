"""Role × route × method over HTTPS, and the ways around it that other servers have had."""

import asyncio
import base64
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from embedded.security.guarded import JSON, Guarded, guarding
from embedded.security.routes import definition
from embedded.security.wire import Asked

pytestmark = pytest.mark.slow

RBAC = "/apis/rbac.authorization.k8s.io/v1"
CORE = "/api/v1/namespaces"
APPS = "/apis/apps/v1/namespaces"
FOLD = "/apis/fold.example/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SECRET = "canary-7f3a"  # what must not be seen

Rule = dict[str, list[str]]


def rule(resources: str, verbs: str, group: str = "", names: str = "") -> Rule:
    made = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return {**made, "resourceNames": names.split()} if names else made


def role(name: str, *rules: Rule, kind: str = "Role") -> dict[str, Any]:
    return {
        "kind": kind,
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "metadata": {"name": name},
        "rules": list(rules),
    }


def binding(user: str, name: str, *, kind: str = "RoleBinding", role_kind: str = "Role") -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    return {
        "kind": kind,
        "apiVersion": f"{group}/v1",
        "metadata": {"name": f"{user}-{name}"},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
        "roleRef": {"kind": role_kind, "name": name, "apiGroup": group},
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": data}


async def give(guarded: Guarded, namespace: str, user: str, *rules: Rule) -> None:
    """A role of the user's own name in that namespace, or in all of them when it is empty."""
    place, prefix = (f"{RBAC}/namespaces/{namespace}", "") if namespace else (RBAC, "cluster")
    kind = "Role" if namespace else "ClusterRole"
    await guarded.make(f"{place}/{prefix}roles", role(user, *rules, kind=kind))
    await guarded.make(f"{place}/{prefix}rolebindings", binding(user, user, kind=f"{kind}Binding", role_kind=kind))


async def populate(guarded: Guarded) -> None:
    await guarded.make("/api/v1/namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "team"}})
    for namespace in ("default", "team"):
        await guarded.make(f"{CORE}/{namespace}/configmaps", config_map("own"), config_map("other", key=SECRET))
        await guarded.make(
            f"{CORE}/{namespace}/secrets", {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}}
        )
        await guarded.make(f"{APPS}/{namespace}/deployments", DEPLOYMENT)
        await guarded.make(f"{CORE}/{namespace}/pods", POD)
    for user, name in (("viewer", "view"), ("editor", "edit")):
        await guarded.make(f"{RBAC}/namespaces/team/rolebindings", binding(user, name, role_kind="ClusterRole"))
    scaling = rule("deployments/scale deployments/status", "*", "apps")
    await give(guarded, "team", "scaler", scaling, rule("pods/status pods/log", "*"))
    await give(guarded, "team", "keeper", rule("configmaps", "get list watch update patch delete", names="own"))
    await give(guarded, "", "auditor", rule("configmaps", "list watch"), rule("namespaces", "get list"))


POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "main", "image": "i"}]},
}
DEPLOYMENT = {
    "kind": "Deployment",
    "apiVersion": "apps/v1",
    "metadata": {"name": "d"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]},
    },
}
ONLY_OWN = "fieldSelector=metadata.name%3Down"
SOON = "timeoutSeconds=1"

# Who, method, path, code. 403 and 404 differ on purpose: only who may ask learns that there is nothing.
TABLE: list[tuple[str, str, str, int]] = [
    # a viewer reads in one namespace, and no Secrets
    ("viewer", "GET", f"{CORE}/team/configmaps", 200),
    ("viewer", "GET", f"{CORE}/team/configmaps/own", 200),
    ("viewer", "GET", f"{CORE}/team/configmaps?watch=true&{SOON}", 200),
    ("viewer", "GET", f"{CORE}/team/configmaps/missing", 404),
    ("viewer", "GET", f"{CORE}/team", 200),  # a namespace is inside itself
    ("viewer", "GET", f"{CORE}/default", 403),
    ("viewer", "GET", CORE, 403),
    ("viewer", "GET", f"{CORE}/team/secrets", 403),
    ("viewer", "GET", f"{CORE}/team/secrets/s", 403),
    ("viewer", "GET", f"{CORE}/default/configmaps", 403),
    ("viewer", "GET", "/api/v1/configmaps", 403),
    ("viewer", "GET", f"/api/v1/configmaps?{ONLY_OWN}", 403),
    ("viewer", "GET", f"{CORE}//configmaps", 403),
    ("viewer", "POST", f"{CORE}/team/configmaps", 403),
    ("viewer", "PUT", f"{CORE}/team/configmaps/own", 403),
    ("viewer", "PATCH", f"{CORE}/team/configmaps/own", 403),
    ("viewer", "DELETE", f"{CORE}/team/configmaps/own", 403),
    ("viewer", "DELETE", f"{CORE}/team/configmaps", 403),
    ("viewer", "HEAD", f"{CORE}/team/configmaps/own", 405),
    ("viewer", "OPTIONS", f"{CORE}/team/configmaps/own", 403),
    ("viewer", "POST", f"{CORE}/team/pods/p/exec?command=sh", 403),
    ("viewer", "GET", f"{CORE}/team/pods/p/exec?command=sh", 403),
    ("viewer", "GET", f"{CORE}/team/pods/p/proxy", 403),
    ("viewer", "GET", f"{CORE}/team/pods/p/log", 204),
    ("viewer", "GET", f"{RBAC}/namespaces/team/roles", 403),
    ("viewer", "GET", "/api/v1/nodes", 403),
    ("viewer", "GET", f"{CORE}/team/nodes", 403),
    # an editor writes in one namespace, and gives no rights
    ("editor", "PATCH", f"{CORE}/team/configmaps/own", 200),
    ("editor", "GET", f"{CORE}/team/secrets/s", 200),
    ("editor", "PATCH", f"{CORE}/default/configmaps/own", 403),
    ("editor", "GET", f"{CORE}/default/secrets/s", 403),
    ("editor", "DELETE", f"{CORE}/team", 403),
    ("editor", "PATCH", f"{CORE}/team", 403),
    ("editor", "PATCH", f"{APPS}/team/deployments/d/scale", 200),
    ("editor", "PATCH", f"{APPS}/team/deployments/d/status", 403),
    ("editor", "POST", f"{RBAC}/namespaces/team/roles", 403),
    ("editor", "POST", f"{RBAC}/namespaces/team/rolebindings", 403),
    ("editor", "PATCH", f"{RBAC}/clusterroles/edit", 403),
    ("editor", "POST", DEFINITIONS, 403),
    # rights on subresources are none on the object, not through any method
    ("scaler", "GET", f"{APPS}/team/deployments/d/scale", 200),
    ("scaler", "PATCH", f"{APPS}/team/deployments/d/scale", 200),
    ("scaler", "PATCH", f"{APPS}/team/deployments/d/status", 200),
    ("scaler", "DELETE", f"{APPS}/team/deployments/d/status", 405),
    ("scaler", "POST", f"{APPS}/team/deployments/d/status", 405),
    ("scaler", "DELETE", f"{APPS}/team/deployments/d/scale", 405),
    ("scaler", "GET", f"{APPS}/team/deployments/d/status?watch=true&{SOON}", 200),
    ("scaler", "DELETE", f"{CORE}/team/pods/p/status", 405),
    ("scaler", "POST", f"{CORE}/team/pods/new/status", 405),
    ("scaler", "DELETE", f"{CORE}/team/pods/p/log", 405),
    ("scaler", "GET", f"{CORE}/team/pods/p/log/more", 404),
    ("scaler", "GET", f"{CORE}/team/pods//status", 404),
    ("scaler", "GET", f"{CORE}/team/pods//status?watch=true&{SOON}", 404),
    ("scaler", "GET", f"{CORE}/team/pods/p", 403),
    ("scaler", "GET", f"{CORE}/team/pods", 403),
    ("scaler", "DELETE", f"{CORE}/team/pods/p", 403),
    ("scaler", "PATCH", f"{APPS}/team/deployments/d", 403),
    ("scaler", "GET", f"{CORE}/team/pods/p/ephemeralcontainers", 403),
    # rights on one name are none on the others
    ("keeper", "GET", f"{CORE}/team/configmaps/own", 200),
    ("keeper", "PATCH", f"{CORE}/team/configmaps/own", 200),
    ("keeper", "GET", f"{CORE}/team/configmaps?{ONLY_OWN}", 200),
    ("keeper", "GET", f"{CORE}/team/configmaps?{ONLY_OWN}&watch=true&{SOON}", 200),
    ("keeper", "GET", f"{CORE}/team/configmaps/other", 403),
    ("keeper", "PATCH", f"{CORE}/team/configmaps/other", 403),
    ("keeper", "DELETE", f"{CORE}/team/configmaps/other", 403),
    ("keeper", "GET", f"{CORE}/team/configmaps", 403),
    ("keeper", "GET", f"{CORE}/team/configmaps?watch=true", 403),
    ("keeper", "GET", f"{CORE}/team/configmaps?fieldSelector=metadata.name%21%3Down", 403),
    ("keeper", "GET", f"{CORE}/team/configmaps?fieldSelector=metadata.name%3Dother", 403),
    ("keeper", "DELETE", f"{CORE}/team/configmaps", 403),
    ("keeper", "DELETE", f"{CORE}/team/configmaps?{ONLY_OWN}", 403),
    ("keeper", "POST", f"{CORE}/team/configmaps", 403),
    ("keeper", "GET", f"{CORE}/default/configmaps/own", 403),
    # rights to list are none to read one
    ("auditor", "GET", "/api/v1/configmaps", 200),
    ("auditor", "GET", f"{CORE}/team/configmaps", 200),
    ("auditor", "GET", f"{CORE}/team/configmaps/own", 403),
    ("auditor", "GET", f"{CORE}/team", 200),
    ("auditor", "DELETE", f"{CORE}/team/configmaps", 403),
]


def ask(method: str, path: str) -> Asked:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return Asked(method, path, (("Content-Type", kind),), b"{}" if method in ("PATCH", "POST", "PUT") else b"")


def test_each_may_do_what_the_table_says(tmp_path: Path) -> None:
    async def test(guarded: Guarded) -> None:
        await populate(guarded)
        for user in dict.fromkeys(row[0] for row in TABLE):
            rows = [row for row in TABLE if row[0] == user]
            answers = await guarded.ask_all(guarded.tls_of(user), [ask(row[1], row[2]) for row in rows])
            assert [(*row[:3], told.status) for row, told in zip(rows, answers, strict=True)] == rows
        kept = (await guarded.do("GET", f"{CORE}/team/pods/p")).tree["metadata"]
        assert "deletionTimestamp" not in kept

    guarding(tmp_path / "data", test)


def test_a_watch_of_one_name_never_tells_of_others(tmp_path: Path) -> None:
    """``…/configmaps/own?watch=true`` was judged as a watch of that name and answered as one of the whole namespace."""

    async def test(guarded: Guarded) -> None:
        await populate(guarded)
        mine = guarded.tls_of("keeper")
        for path in (f"{CORE}/team/configmaps/own?watch=true", f"{CORE}/team/configmaps?{ONLY_OWN}&watch=true"):
            told = (await guarded.ask_all(mine, [Asked("GET", f"{path}&{SOON}&resourceVersion=0")]))[0]
            assert told.status == 200
            assert b'"own"' in told.body
            assert SECRET.encode() not in told.body

    guarding(tmp_path / "data", test)


def test_nobody_climbs_by_giving_rights(tmp_path: Path) -> None:
    everything = rule("*", "*", "*")
    pods = rule("pods", "get")

    async def test(guarded: Guarded) -> None:
        await populate(guarded)
        await guarded.make(f"{RBAC}/namespaces/team/roles", role("powerful", everything))
        await give(
            guarded,
            "team",
            "giver",
            rule("roles rolebindings", "create update patch get delete", "rbac.authorization.k8s.io"),
        )
        giver = guarded.tls_of("giver")
        roles, bindings = f"{RBAC}/namespaces/team/roles", f"{RBAC}/namespaces/team/rolebindings"

        async def code(method: str, path: str, body: Any) -> int:
            return (await guarded.do(method, path, body, tls=giver)).status

        assert await code("POST", roles, role("r", everything)) == 403
        assert await code("POST", roles, role("r", pods)) == 403
        assert await code("PATCH", f"{roles}/giver", {"rules": [everything]}) == 403
        assert await code("PUT", f"{roles}/giver", role("giver", everything)) == 403
        assert await code("POST", bindings, binding("giver", "powerful")) == 403
        assert await code("POST", bindings, binding("giver", "cluster-admin", role_kind="ClusterRole")) == 403
        patch = {"subjects": binding("giver", "x")["subjects"]}
        assert await code("PATCH", f"{bindings}/editor-edit", patch) == 403
        assert (
            await code("POST", f"{RBAC}/clusterrolebindings", binding("giver", "powerful", kind="ClusterRoleBinding"))
            == 403
        )
        assert (await guarded.do("GET", f"{CORE}/team/secrets/s", tls=giver)).status == 403
        held = rule("roles", "get", "rbac.authorization.k8s.io")
        assert await code("POST", roles, role("r", held)) == 201  # what one has one may give

    guarding(tmp_path / "data", test)


def test_rights_do_not_come_with_labels(tmp_path: Path) -> None:
    """An aggregated role takes in what carries a label; who may create roles must hold what they say all the same."""
    labelled = role("r", rule("secrets", "get"), kind="ClusterRole")
    labelled["metadata"]["labels"] = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}

    async def test(guarded: Guarded) -> None:
        await populate(guarded)
        await give(guarded, "", "giver", rule("clusterroles", "create", "rbac.authorization.k8s.io"))
        made = await guarded.do("POST", f"{RBAC}/clusterroles", labelled, tls=guarded.tls_of("giver"))
        assert made.status == 403
        assert (await guarded.do("GET", f"{CORE}/team/secrets/s", tls=guarded.tls_of("viewer"))).status == 403

    guarding(tmp_path / "data", test)


WISHES = {
    "user": (("Impersonate-User", "admin"),),
    "spelling": (("iMPERSONATE-uSER", "admin"),),
    "first of two": (("Impersonate-User", "admin"), ("Impersonate-User", "stranger")),
    "group": (("Impersonate-User", "stranger"), ("Impersonate-Group", "system:masters")),
    "second group": (
        ("Impersonate-User", "stranger"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "system:masters"),
    ),
    "oneself": (("Impersonate-User", "stranger"),),
    "account": (("Impersonate-User", "system:serviceaccount:kube-system:default"),),
    "uid": (("Impersonate-User", "stranger"), ("Impersonate-Uid", "1")),
    "extra": (("Impersonate-User", "stranger"), ("Impersonate-Extra-Scopes", "all")),
}
GROUP_ALONE = (("Impersonate-Group", "system:masters"),)


@pytest.mark.parametrize("path", ["/api", "/healthz", f"{CORE}/default/configmaps", f"{CORE}/default/pods/p/exec"])
def test_nobody_without_the_right_acts_as_somebody_else(tmp_path: Path, path: str) -> None:
    async def test(guarded: Guarded) -> None:
        asked = [Asked(method, path, wish) for wish in WISHES.values() for method in ("GET", "POST", "DELETE")]
        for told in await guarded.ask_all(guarded.tls_of("stranger"), asked):
            assert told.status == 403
            assert 'User "stranger" cannot impersonate' in told.tree["message"]
        assert {told.status for told in await guarded.ask_all(guarded.tls(), asked)} <= {401, 403}
        alone = Asked("GET", path, GROUP_ALONE)
        assert [told.status for told in await guarded.ask_all(guarded.tls_of("stranger"), [alone])] == [500]

    guarding(tmp_path / "data", test)


def test_who_may_act_as_one_user_has_that_user_s_rights_and_no_others(tmp_path: Path) -> None:
    async def test(guarded: Guarded) -> None:
        await populate(guarded)
        await give(guarded, "", "deputy", rule("users", "impersonate", names="viewer"))
        deputy, seen = guarded.tls_of("deputy"), (f"{CORE}/team/configmaps", f"{CORE}/team/secrets")
        codes = []
        for wish in ("viewer", "editor", "admin"):
            asked = [Asked("GET", path, (("Impersonate-User", wish),)) for path in seen]
            codes.append([told.status for told in await guarded.ask_all(deputy, asked)])
        assert codes == [[200, 403], [403, 403], [403, 403]]
        masters = (("Impersonate-User", "viewer"), ("Impersonate-Group", "system:masters"))
        assert (await guarded.ask_all(deputy, [Asked("GET", seen[1], masters)]))[0].status == 403
        own = await guarded.ask_all(deputy, [Asked("GET", path) for path in seen])
        assert [told.status for told in own] == [403, 403]

    guarding(tmp_path / "data", test)


async def populate_custom(guarded: Guarded) -> None:
    await guarded.make(
        DEFINITIONS, definition(), definition("cogs", scope="Cluster"), definition("gadgetsx"), definition("gadge")
    )
    custom = {"apiVersion": "fold.example/v1", "spec": {"key": SECRET}}
    await guarded.make(f"{FOLD}/cogs", {**custom, "kind": "Cog", "metadata": {"name": "x"}})
    for plural, kind in (("gadgetsx", "Gadgetsx"), ("gadge", "Gadge")):
        await guarded.make(f"{FOLD}/namespaces/default/{plural}", {**custom, "kind": kind, "metadata": {"name": "x"}})
    own = {"apiVersion": "fold.example/v1", "kind": "Gadget", "metadata": {"name": "mine"}}
    await guarded.make(f"{FOLD}/namespaces/default/gadgets", own)


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "POST"])
@pytest.mark.parametrize("path", ["cogs/x", "cogs", "cogs/x/status", "cogs/x/scale", "cogs?watch=true"])
def test_cve_2019_11247_what_is_the_clusters_is_not_reached_through_a_namespace(
    tmp_path: Path, method: str, path: str
) -> None:
    """Rights in a namespace were enough for cluster-wide custom objects, asked for through that namespace's path."""

    async def test(guarded: Guarded) -> None:
        await populate_custom(guarded)
        await give(guarded, "default", "local", rule("*", "*", "fold.example"))
        local = guarded.tls_of("local")
        told = (await guarded.ask_all(local, [ask(method, f"{FOLD}/namespaces/default/{path}")]))[0]
        assert told.status == 404
        assert (await guarded.ask_all(local, [ask(method, f"{FOLD}/{path}")]))[0].status == 403
        assert (await guarded.do("GET", f"{FOLD}/cogs/x")).tree["spec"]["key"] == SECRET

    guarding(tmp_path / "data", test)


def continue_from(start: str) -> str:
    token = base64.urlsafe_b64encode(msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": -1, "start": start}))
    return quote(token.rstrip(b"=").decode())


STARTS = (
    "../gadgetsx/",
    "/../gadgetsx/default/",
    "default/../../gadgetsx/",
    "x/default/x",
    "",
    "/",
    "..",
    "\x00",
    "cogs",
)
CRAFTED = [
    *(
        f"{FOLD}/gadgets/../cogs",
        f"{FOLD}/gadgets/%2e%2e/cogs",
        f"{FOLD}/gadgets%2f..%2fcogs",
        f"{FOLD}/gadgets/..%2fcogs",
    ),
    *(f"{FOLD}/gadgets%3f", f"{FOLD}/gadgets*", f"{FOLD}//gadgets", f"{FOLD}/gadgetsx%00/../gadgets"),
    *(f"{FOLD}/namespaces/../cogs", f"{FOLD}/namespaces/..%2f..%2fcogs/gadgets", f"{FOLD}/namespaces/%2e%2e/gadgets"),
    *(f"{FOLD}/namespaces/*/gadgets", f"{FOLD}/namespaces//gadgets", f"{FOLD}/namespaces/..%2fgadgetsx/gadgets"),
    f"{FOLD}/namespaces/default%2f..%2f..%2fgadgetsx/gadgets",
    f"{FOLD}/namespaces/default/gadgets/..",
    f"{FOLD}/namespaces/default/gadgets/../gadgetsx",
    f"{FOLD}/gadgets?fieldSelector=metadata.namespace%3D..%2f..%2fgadgetsx",
    *(f"{FOLD}/gadgets?limit=500&continue={continue_from(start)}" for start in STARTS),
]


def test_cve_2022_3162_a_crafted_list_tells_nothing_of_sibling_kinds(tmp_path: Path) -> None:
    """Whoever could list one custom kind could read others of its group through a path with dots in it."""

    async def test(guarded: Guarded) -> None:
        await populate_custom(guarded)
        await give(guarded, "", "lister", rule("gadgets", "list watch get", "fold.example"))
        lister = guarded.tls_of("lister")
        assert b'"mine"' in (await guarded.do("GET", f"{FOLD}/gadgets", tls=lister)).body
        watched = [f"{path}{'&' if '?' in path else '?'}watch=true&{SOON}&resourceVersion=0" for path in CRAFTED]
        asking = [guarded.ask_all(lister, [Asked("GET", path)]) for path in (*CRAFTED, *watched)]
        for path, (told,) in zip((*CRAFTED, *watched), await asyncio.gather(*asking), strict=True):
            assert SECRET.encode() not in told.body, path
            assert told.status < 500, (path, told)

    guarding(tmp_path / "data", test)


def test_the_rows_are_told_apart_by_the_certificate_alone(tmp_path: Path) -> None:
    """The same request of two users on one server gets two answers: nothing is remembered across them."""

    async def test(guarded: Guarded) -> None:
        await populate(guarded)
        request = [Asked("GET", f"{CORE}/team/configmaps/other", (JSON,))]

        async def code(tls: ssl.SSLContext) -> int:
            return (await guarded.ask_all(tls, request))[0].status

        users = ["viewer", "keeper", "viewer", "stranger", "keeper"]
        assert [await code(guarded.tls_of(user)) for user in users] == [200, 403, 200, 403, 403]

    guarding(tmp_path / "data", test)
