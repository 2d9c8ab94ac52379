"""A conversation with the API server: silence is asked again, and an answer is final."""

import asyncio
import time
from pathlib import Path

import pytest

from cli.typed_commands import example
from heliostat.api.crds import all_crds
from heliostat.kube.jsontree import JsonObject
from heliostat.local.session import open_session
from heliostat.runtime.errors import AmbiguousError, UnavailableError
from heliostat.testing import ApiServer

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATIENCE = 60.0  # far longer than an answer takes


def misspelt() -> JsonObject:
    tree = example("hello")
    tree["metadata"]["namespace"] = "default"
    tree["spec"]["workerGroupSpec"] = tree["spec"].pop("workerGroupSpecs")
    return tree


def test_a_document_that_does_not_fit_its_kind_is_refused_once(tmp_path: Path) -> None:
    async def test() -> float:
        async with ApiServer() as server:
            (tmp_path / "kubeconfig").write_text(server.build_kubeconfig("tester", ("system:masters",)))
            await server.request(
                "POST", DEFINITIONS, next(t for t in all_crds() if "rayclusters" in str(t["metadata"]))
            )
            async with open_session(tmp_path / "kubeconfig", patience=PATIENCE) as session:
                begun = time.monotonic()
                with pytest.raises(AmbiguousError, match="workerGroupSpec: field not declared in schema"):
                    await session.apply(misspelt())
                return time.monotonic() - begun

    assert asyncio.run(test()) < PATIENCE / 4


def test_a_server_that_does_not_answer_is_asked_until_patience_ends(tmp_path: Path) -> None:
    async def test() -> float:
        async with ApiServer() as server:
            kubeconfig = server.build_kubeconfig("tester", ("system:masters",))
        (tmp_path / "kubeconfig").write_text(kubeconfig)
        begun = time.monotonic()
        async with open_session(tmp_path / "kubeconfig", patience=1.0) as session:
            with pytest.raises(UnavailableError):
                await session.apply(misspelt())
        return time.monotonic() - begun

    assert asyncio.run(test()) >= 1.0
