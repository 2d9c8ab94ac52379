"""Others find the keys that verify our ServiceAccounts' tokens where OpenID Connect says, if they may look."""

from pathlib import Path

import jwt

from embedded.security.guarded import Guarded, guarding

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
CONFIGURATION = "/.well-known/openid-configuration"
KEYS = "/openid/v1/jwks"


def test_a_token_is_verified_with_the_published_keys(tmp_path: Path) -> None:
    async def test(guarded: Guarded) -> None:
        await guarded.make(ACCOUNTS, {"metadata": {"name": "robot"}})
        wanted = {"spec": {"audiences": ["somebody-else"]}}
        (request,) = await guarded.make(f"{ACCOUNTS}/robot/token", wanted)
        configuration = await guarded.do("GET", CONFIGURATION)
        assert configuration.headers["content-type"] == "application/json"
        assert configuration.tree["jwks_uri"].endswith(KEYS)
        told = await guarded.do("GET", KEYS)
        assert (told.status, told.headers["content-type"]) == (200, "application/jwk-set+json")
        token = request["status"]["token"]
        key = jwt.PyJWKSet.from_dict(told.tree)[jwt.get_unverified_header(token)["kid"]]
        algorithms = configuration.tree["id_token_signing_alg_values_supported"]
        claims = jwt.decode(token, key, algorithms, audience="somebody-else", issuer=configuration.tree["issuer"])
        assert claims["sub"] == "system:serviceaccount:default:robot"
        assert "d" not in told.tree["keys"][0], "the private part"

    guarding(tmp_path / "data", test)


def test_only_service_accounts_may_look_and_nobody_may_write(tmp_path: Path) -> None:
    async def test(guarded: Guarded) -> None:
        for path in (CONFIGURATION, KEYS):
            account = guarded.tls_of("system:serviceaccount:default:x", "system:serviceaccounts")
            assert (await guarded.do("GET", path, tls=account)).status == 200
            assert (await guarded.do("GET", path, tls=guarded.tls_of("anybody"))).status == 403
            assert (await guarded.do("GET", path, tls=guarded.tls())).status in (401, 403)
            assert (await guarded.do("POST", path, {})).status == 405

    guarding(tmp_path / "data", test)


def test_an_escaped_slash_separates_for_routes_and_for_rights_alike(tmp_path: Path) -> None:
    """As kube-apiserver has it, which looks at the decoded path only: there is one reading, hence no way around."""

    async def test(guarded: Guarded) -> None:
        await guarded.make("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
        for path in ("namespaces/default/configmaps%2fa", "namespaces%2Fdefault/configmaps/a"):
            assert (await guarded.do("GET", f"/api/v1/{path}")).tree["metadata"]["name"] == "a"
            told = await guarded.do("GET", f"/api/v1/{path}", tls=guarded.tls_of("anybody"))
            assert (told.status, told.tree["details"]) == (403, {"name": "a", "kind": "configmaps"})
        assert (await guarded.do("GET", "/api/v1/namespaces/default/configmaps/a%2fb")).status == 404

    guarding(tmp_path / "data", test)
