"""The token of a cluster that asks for one: where it lies, and that it is found."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from heliostat.local.cluster_token import fetch_token, token_secret_name
from heliostat.local.session import open_session
from heliostat.testing import ApiServer


def cluster(**options: Any) -> dict[str, Any]:
    spec = {"authOptions": options} if options else {}
    return {"metadata": {"name": "closed", "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ""),
        ({"mode": "disabled", "secretName": "mine"}, ""),
        ({"mode": "token"}, "closed"),
        ({"mode": "token", "secretName": "mine"}, "mine"),
        ({"mode": "token", "enableK8sTokenAuth": True}, ""),
    ],
)
def test_the_secret_that_holds_the_token(options: dict[str, Any], expected: str) -> None:
    assert token_secret_name(cluster(**options)) == expected


def test_the_token_is_read_from_the_secret_and_is_nothing_where_there_is_none(tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "closed"}, "stringData": {"auth_token": "t\n"}}

    async def test() -> list[str]:
        async with ApiServer() as server:
            (tmp_path / "kubeconfig").write_text(server.build_kubeconfig("tester", ("system:masters",)))
            await server.request("POST", "/api/v1/namespaces/default/secrets", secret)
            async with open_session(tmp_path / "kubeconfig") as session:
                asked = (cluster(mode="token"), cluster(mode="token", secretName="none"), cluster())
                return [await fetch_token(session, each) for each in asked]

    assert asyncio.run(test()) == ["t", "", ""]
