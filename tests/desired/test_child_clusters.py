"""The RayClusters that RayJobs and RayServices make: rayjob.md §7 and §8, rayservice.md §4.7."""

from typing import Any

import pytest

from desired.clusters import MINIMAL
from heliostat.api.documents import Accepted, accept
from heliostat.api.rayjob import RayJob
from heliostat.api.rayservice import RayService
from heliostat.api.settings import Settings, default_gates
from heliostat.desired.rayjob.cluster import build_cluster_of_job
from heliostat.desired.rayjob.command import build_submit_command
from heliostat.desired.rayjob.scheduling import find_scheduler_problem
from heliostat.desired.rayservice.cluster import build_cluster_of_service
from heliostat.desired.slots import Impossible

METADATA = {
    "name": "j",
    "namespace": "ns",
    "uid": "u",
    "labels": {"team": "a", "ray.io/gang-scheduling-enabled": ""},
    "annotations": {"note": "x"},
}


def accepted(kind: str, spec: dict[str, Any], **metadata: Any) -> Accepted:
    answer = accept({"apiVersion": "ray.io/v1", "kind": kind, "metadata": {**METADATA, **metadata}, "spec": spec})
    assert isinstance(answer, Accepted), answer
    return answer


def job_cluster(settings: Settings | None = None, **spec: Any) -> Any:
    answer = accepted("RayJob", {"entrypoint": "python x.py", "rayClusterSpec": MINIMAL["spec"], **spec})
    assert isinstance(answer.object, RayJob)
    return build_cluster_of_job(answer.object, answer.tree, "j-abcde", "j-id", settings or Settings())


def test_a_jobs_cluster_inherits_and_is_owned() -> None:
    metadata = job_cluster()["metadata"]
    assert metadata["name"] == "j-abcde"
    assert metadata["labels"] == {
        "team": "a",
        "ray.io/gang-scheduling-enabled": "",
        "ray.io/originated-from-cr-name": "j",
        "ray.io/originated-from-crd": "RayJob",
        "ray.io/job-submission-mode": "K8sJobMode",
    }
    assert metadata["annotations"] == {"note": "x"}
    assert metadata["ownerReferences"][0]["kind"] == "RayJob"


def test_a_sidecar_job_puts_its_submitter_into_the_head() -> None:
    cluster = job_cluster(
        submissionMode="SidecarMode",
        runtimeEnvYAML="env_vars:\n  A: <b>\n",
        entrypointNumCpus=1.5,
        entrypointResources='{"x": 1}',
        metadata={"k": "v"},
    )
    head = cluster["spec"]["headGroupSpec"]["template"]["spec"]
    assert head["restartPolicy"] == "Never"
    submitter = head["containers"][1]
    assert submitter["name"] == "ray-job-submitter"
    assert submitter["command"] == ["/bin/bash", "-ce", "--"]
    assert submitter["args"][0].endswith(
        " ray job submit --address http://127.0.0.1:8265"
        ' --runtime-env-json "{\\"env_vars\\":{\\"A\\":\\"\\\\u003cb\\\\u003e\\"}}"'
        ' --metadata-json "{\\"k\\":\\"v\\"}" --submission-id j-id --entrypoint-num-cpus 1.500000'
        ' --entrypoint-resources "{\\"x\\": 1}" -- python x.py ;'
    )
    assert cluster["metadata"]["annotations"]["ray.io/disable-provisioned-head-restart"] == "true"
    assert MINIMAL["spec"]["headGroupSpec"]["template"]["spec"]["containers"][1:] == []


def test_a_restartable_sidecar_follows_the_log_of_a_job_it_submitted_before() -> None:
    settings = Settings(gates=default_gates() | {"SidecarSubmitterRestart": True})
    cluster = job_cluster(settings, submissionMode="SidecarMode")
    submitter = cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"][1]
    assert submitter["restartPolicy"] == "OnFailure"
    assert "if ! ray job status --address http://127.0.0.1:8265 j-id" in submitter["args"][0]
    assert submitter["args"][0].endswith("fi ; ray job logs --address http://127.0.0.1:8265 --follow j-id")


def test_the_worked_example_of_a_submit_command() -> None:
    answer = accepted("RayJob", {"entrypoint": " echo hi ", "rayClusterSpec": MINIMAL["spec"]})
    assert isinstance(answer.object, RayJob)
    command = build_submit_command(
        answer.object,
        "test-job-id",
        address="http://test-url",
        health="http://test-url/api/gcs_healthz",
        resumable=True,
    )
    assert command == (
        "until python -c \"import urllib.request; r=urllib.request.urlopen('http://test-url/api/gcs_healthz', "
        "timeout=10); exit(0 if b'success' in r.read() else 1)\" >/dev/null 2>&1 ; do "
        'echo "Waiting for Ray Dashboard GCS to become healthy at http://test-url ..." ; sleep 2 ; done ; '
        "if ! ray job status --address http://test-url test-job-id >/dev/null 2>&1 ; then ray job submit --address "
        "http://test-url --no-wait --submission-id test-job-id -- echo hi ; fi ; ray job logs --address "
        "http://test-url --follow test-job-id"
    )


@pytest.mark.parametrize(
    ("version", "possible"),
    [
        ("2.52", True),
        ("v2.53.0", True),
        ("", True),
        ("2.5.0", False),
        ("2.53.0-rc1", False),
        ("2.6.0", True),
        ("2.52.0.dev0", False),
        ("nightly", False),
        ("2." + "9" * 5000, False),
    ],
)
def test_job_metadata_needs_a_strict_recent_version(version: str, possible: bool) -> None:
    spec = {**MINIMAL["spec"], "rayVersion": version}
    cluster = job_cluster(submissionMode="SidecarMode", metadata={"k": "v"}, rayClusterSpec=spec)
    assert isinstance(cluster, Impossible) is not possible


@pytest.mark.parametrize(
    ("scheduler", "mode", "possible"),
    [
        ("scheduler-plugins", "K8sJobMode", False),
        ("scheduler-plugins", "HTTPMode", False),
        ("kai-scheduler", "K8sJobMode", False),
        ("kai-scheduler", "HTTPMode", True),
        ("volcano", "K8sJobMode", True),
    ],
)
def test_schedulers_that_do_not_take_the_job(scheduler: str, mode: str, possible: bool) -> None:
    answer = accepted("RayJob", {"entrypoint": "x", "rayClusterSpec": MINIMAL["spec"], "submissionMode": mode})
    assert isinstance(answer.object, RayJob)
    problem = find_scheduler_problem(answer.object, Settings(batch_scheduler=scheduler))
    assert isinstance(problem, Impossible) is not possible


def test_yunikorn_counts_the_submitter_into_the_gang() -> None:
    annotations = job_cluster(Settings(batch_scheduler="yunikorn"))["metadata"]["annotations"]
    assert '"name":"submittergroup","minMember":1}]' in annotations["yunikorn.apache.org/task-groups"]


def test_a_services_cluster_carries_what_upgrades_compare() -> None:
    answer = accepted("RayService", {"rayClusterConfig": MINIMAL["spec"]})
    assert isinstance(answer.object, RayService)
    cluster = build_cluster_of_service(answer.object, answer.tree, "s-abcde", Settings(operator_version="v"))
    annotations = cluster["metadata"]["annotations"]
    assert annotations["ray.io/num-worker-groups"] == "1"
    assert annotations["ray.io/kuberay-version"] == "v"
    assert len(annotations["ray.io/hash-without-replicas-and-workers-to-delete"]) == 32
    assert cluster["metadata"]["labels"]["ray.io/originated-from-crd"] == "RayService"
