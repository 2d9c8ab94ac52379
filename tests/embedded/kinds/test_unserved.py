"""What is kept and not carried out is said when it is created, where controllers run; a server alone says nothing."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded.kinds.servers import serve_core
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.kinds.unserved import unserved_cautions
from heliostat.embedded.server.admission.kind_admission import AdmissionOptions
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.messages import Request, Response
from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.testing import ApiServer

ROOT = Path(__file__).resolve().parents[3]
ADMIN = User("admin", groups=(MASTERS,))
TELLING = AdmissionOptions(tells_unserved=True)
LABELS = {"app": "a"}
CONTAINER: JsonObject = {"name": "c", "image": "i"}
TEMPLATE: JsonObject = {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}}


def pod(**spec: Any) -> JsonObject:
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {"containers": [CONTAINER], **spec}}


def service(**spec: Any) -> JsonObject:
    ports = [{"port": 80}]
    return {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {"ports": ports, **spec}}


def workload(kind: str, **spec: Any) -> JsonObject:
    given = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE, **spec}
    return {"kind": kind, "apiVersion": "apps/v1", "metadata": {"name": "a"}, "spec": given}


def open_ports(count: int) -> list[JsonObject]:
    return [{"containerPort": number, "hostPort": number} for number in range(1, count + 1)]


CRON: JsonObject = {
    "kind": "CronJob",
    "apiVersion": "batch/v1",
    "metadata": {"name": "a"},
    "spec": {
        "schedule": "* * * * *",
        "jobTemplate": {"spec": {"template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}}},
    },
}
POLICY: JsonObject = {
    "kind": "NetworkPolicy",
    "apiVersion": "networking.k8s.io/v1",
    "metadata": {"name": "a"},
    "spec": {"podSelector": {}},
}
EPHEMERAL: JsonObject = {
    "name": "v",
    "ephemeral": {
        "volumeClaimTemplate": {
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        }
    },
}
IN_TEMPLATE = {**TEMPLATE, "spec": {"containers": [{**CONTAINER, "ports": open_ports(1)}]}}
CORE, APPS = "/api/v1/namespaces/default", "/apis/apps/v1/namespaces/default"
NOT_CARRIED_OUT: dict[str, tuple[str, JsonObject, str]] = {
    "DaemonSet": (f"{APPS}/daemonsets", workload("DaemonSet"), "no controller here makes Pods for a DaemonSet"),
    "CronJob": ("/apis/batch/v1/namespaces/default/cronjobs", CRON, "no controller here makes Jobs for a CronJob"),
    "NetworkPolicy": (
        "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
        POLICY,
        "Pods here reach each other whatever a NetworkPolicy says",
    ),
    "hostPort": (f"{CORE}/pods", pod(containers=[{**CONTAINER, "ports": open_ports(1)}]), "hostPort: "),
    "hostPort of a template": (f"{APPS}/deployments", workload("Deployment", template=IN_TEMPLATE), "hostPort: "),
    "generic ephemeral volume": (f"{CORE}/pods", pod(volumes=[EPHEMERAL]), "volumes.ephemeral: "),
    "sessionAffinity": (f"{CORE}/services", service(sessionAffinity="ClientIP"), "spec.sessionAffinity: "),
    "UDP": (f"{CORE}/services", service(ports=[{"port": 53, "protocol": "UDP"}]), "TCP alone is carried, UDP is not"),
    "NodePort": (f"{CORE}/services", service(type="NodePort"), "a NodePort Service is reached at its cluster IP alone"),
    "LoadBalancer": (f"{CORE}/services", service(type="LoadBalancer"), "a LoadBalancer Service is reached"),
    "partition": (
        f"{APPS}/statefulsets",
        workload("StatefulSet", updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}),
        "a Pod below it that is made anew gets the newest template",
    ),
    "retention of claims": (
        f"{APPS}/statefulsets",
        workload("StatefulSet", persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Retain"}),
        "claims are never deleted",
    ),
}
CARRIED_OUT: tuple[tuple[str, JsonObject], ...] = (
    (f"{CORE}/pods", pod(volumes=[{"name": "v", "emptyDir": {}}])),
    (f"{CORE}/services", service()),
    (f"{APPS}/deployments", workload("Deployment")),
    (f"{APPS}/statefulsets", workload("StatefulSet")),
)


def told(path: str, tree: JsonObject, options: AdmissionOptions = TELLING) -> tuple[str, ...]:
    """The warnings of the server for a create."""
    found: list[Response] = []

    async def create(core: ApiCore) -> None:
        found.append(await write(core, "POST", path, tree))

    serve_core(create, options)
    assert found[0].status == 201, found[0].body
    return found[0].warnings


async def write(core: ApiCore, method: str, path: str, tree: JsonObject) -> Response:
    headers = {"content-type": "application/json" if method != "PATCH" else "application/merge-patch+json"}
    answer = await core.handle(Request(method=method, path=path, user=ADMIN, headers=headers, body=encode_json(tree)))
    assert isinstance(answer, Response)
    return answer


@pytest.mark.parametrize("name", NOT_CARRIED_OUT)
def test_what_is_not_carried_out_is_said(name: str) -> None:
    path, tree, part = NOT_CARRIED_OUT[name]
    assert [text for text in told(path, tree) if part in text], told(path, tree)
    assert not [text for text in told(path, tree, AdmissionOptions()) if part in text]


@pytest.mark.parametrize(("path", "tree"), CARRIED_OUT, ids=lambda value: value if isinstance(value, str) else "")
def test_of_what_is_carried_out_nothing_is_said(path: str, tree: JsonObject) -> None:
    assert told(path, tree) == ()


def test_a_container_that_is_added_to_a_running_pod_is_not_started() -> None:
    async def add(core: ApiCore) -> None:
        assert (await write(core, "POST", f"{CORE}/pods", pod())).status == 201
        debugger = {"spec": {"ephemeralContainers": [{"name": "d", "image": "i"}]}}
        answer = await write(core, "PATCH", f"{CORE}/pods/a/ephemeralcontainers", debugger)
        assert answer.status == 200, answer.body
        assert any("ephemeralContainers: the node starts none" in text for text in answer.warnings)

    serve_core(add, TELLING)


def test_it_is_said_once_however_often_it_is_in_there() -> None:
    many = pod(containers=[{**CONTAINER, "ports": open_ports(500)}])
    assert len(unserved_cautions(many, "pods")) == 1


def _every_text() -> Iterator[str]:
    for path, tree, _part in NOT_CARRIED_OUT.values():
        plural = path.rpartition("/")[2]
        group = path.split("/")[2] if path.startswith("/apis/") else ""
        yield from unserved_cautions(tree, f"{plural}.{group}" if group else plural)


def test_every_sentence_is_plain_header_text() -> None:
    texts = list(_every_text())
    assert len(texts) >= len(NOT_CARRIED_OUT)
    assert [text for text in texts if not re.fullmatch(r"[ -~]{1,200}", text)] == []


def test_a_server_with_controllers_says_it() -> None:
    async def scenario() -> None:
        async with ApiServer(controllers=True) as server:
            body = encode_json(service(type="NodePort"))
            answer = await server.handle(Request(method="POST", path=f"{CORE}/services", user=ADMIN, body=body))
            assert isinstance(answer, Response)
            assert any("NodePort Service" in text for text in answer.warnings)

    asyncio.run(scenario())


def test_every_one_has_its_row_in_the_page() -> None:
    page = (ROOT / "docs" / "differences-kubernetes.md").read_text()
    rows = [line for line in page.splitlines() if "tests/embedded/kinds/test_unserved.py" in line]
    for word in (
        *("DaemonSet", "CronJob", "NetworkPolicy", "ReplicationController", "HorizontalPodAutoscaler", "hostPort"),
        *("sessionAffinity", "UDP", "NodePort", "LoadBalancer", "ephemeral volume", "ephemeral container"),
        *("persistentVolumeClaimRetentionPolicy", "partition", "maxUnavailable"),
    ):
        assert any(word in row for row in rows), word
