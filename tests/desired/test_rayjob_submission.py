"""What a RayJob makes beside its cluster: the submitter Job, the Service at its head, its names (rayjob.md §6–§9)."""

from typing import Any

import pytest

from desired.clusters import MINIMAL
from heliostat.api.documents import Accepted, accept
from heliostat.api.raycluster import RayClusterSpec
from heliostat.api.rayjob import RayJob
from heliostat.api.settings import Settings
from heliostat.desired.rayjob.cluster import build_cluster_of_job
from heliostat.desired.rayjob.head_service import build_job_head_service, find_dashboard_url
from heliostat.desired.rayjob.names import name_attempt
from heliostat.desired.rayjob.scheduling import build_job_pod_group
from heliostat.desired.rayjob.submitter import build_submitter_job
from heliostat.desired.slots import Impossible

ADDRESS = "http://test-url"
WORKED_EXAMPLE = (
    "until python -c \"import urllib.request; r=urllib.request.urlopen('http://test-url/api/gcs_healthz', timeout=10); "
    "exit(0 if b'success' in r.read() else 1)\" >/dev/null 2>&1 ; do echo \"Waiting for Ray Dashboard GCS to become "
    'healthy at http://test-url ..." ; sleep 2 ; done ; if ! ray job status --address http://test-url test-job-id '
    ">/dev/null 2>&1 ; then ray job submit --address http://test-url --no-wait --submission-id test-job-id -- echo hi "
    "; fi ; ray job logs --address http://test-url --follow test-job-id"
)
ORIGIN = {
    "ray.io/originated-from-cr-name": "j",
    "ray.io/originated-from-crd": "RayJob",
    "app.kubernetes.io/created-by": "kuberay-operator",
}


def job(spec: dict[str, Any] | None = None, **metadata: Any) -> RayJob:
    sound = {"entrypoint": "echo hi", "rayClusterSpec": MINIMAL["spec"]}
    placed = {"name": "j", "namespace": "ns", "uid": "u", "generation": 1} | metadata
    answer = accept({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": placed, "spec": sound | (spec or {})})
    assert isinstance(answer, Accepted), answer
    assert isinstance(answer.object, RayJob)
    return answer.object


def spec_of(made: RayJob) -> RayClusterSpec:
    assert made.spec.ray_cluster_spec is not None
    return made.spec.ray_cluster_spec


def submitter(made: RayJob, settings: Settings | None = None) -> Any:
    spec = spec_of(made)
    return build_submitter_job(made, spec, "j-abcde", "test-job-id", "test-url", settings or Settings())


def template_of(container: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"restartPolicy": "Never", "containers": [{"name": "mine", "image": "i", **container}]}}


def test_the_default_submitter_is_the_worked_example() -> None:
    made = submitter(job())
    assert made["metadata"]["name"] == "j"
    assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"] == ORIGIN
    assert made["spec"]["backoffLimit"] == 2
    pod = made["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["restartPolicy"] == "Never"
    assert (container["command"], container["args"]) == (["/bin/bash", "-ce", "--"], [WORKED_EXAMPLE])
    assert [variable["name"] for variable in container["env"]] == [
        "PYTHONUNBUFFERED",
        "RAY_DASHBOARD_ADDRESS",
        "RAY_JOB_SUBMISSION_ID",
    ]


def test_a_template_with_a_command_keeps_it_and_learns_the_address_without_a_scheme() -> None:
    users = template_of({"command": ["/submitter"]})
    container = submitter(job({"submitterPodTemplate": users}))["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["/submitter"]
    assert "args" not in container
    assert {"name": "RAY_DASHBOARD_ADDRESS", "value": "test-url"} in container["env"]
    assert users == template_of({"command": ["/submitter"]}), "the user's template was changed"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0.1, " --entrypoint-num-cpus 0.100000 "),
        (123456.789, " --entrypoint-num-cpus 123456.789062 "),
        (1e39, "--entrypoint-num-cpus 99999999999999"),
        (-1, "--submission-id test-job-id -- "),
        (0, "--submission-id test-job-id -- "),
    ],
)
def test_numbers_for_the_entrypoint_have_six_decimals_of_single_precision(number: float, words: str) -> None:
    container = submitter(job({"entrypointNumCpus": number}))["spec"]["template"]["spec"]["containers"][0]
    assert words in container["args"][0]


@pytest.mark.parametrize("users", [{}, {"spec": {"containers": []}}])
@pytest.mark.parametrize("scheduler", ["", "volcano", "yunikorn"])
def test_a_template_without_a_container_makes_the_submitter_impossible(users: dict[str, Any], scheduler: str) -> None:
    settings = Settings(batch_scheduler=scheduler)
    made = job({"submitterPodTemplate": users}, labels={"ray.io/gang-scheduling-enabled": ""})
    impossible = submitter(made, settings)
    assert isinstance(impossible, Impossible)
    assert "no container" in impossible.message
    tree = {"metadata": {"name": "j", "namespace": "ns", "uid": "u"}, "spec": {"rayClusterSpec": MINIMAL["spec"]}}
    assert isinstance(build_cluster_of_job(made, tree, "j-abcde", "id", settings), dict)
    assert not isinstance(build_job_pod_group(made, settings), Impossible)


@pytest.mark.parametrize(("config", "limit"), [({}, 2), ({"backoffLimit": 0}, 0), ({"backoffLimit": 4}, 4)])
def test_the_submitters_backoff_limit(config: dict[str, int], limit: int) -> None:
    assert submitter(job({"submitterConfig": config}))["spec"]["backoffLimit"] == limit


def test_a_login_shell_is_asked_for_by_a_switch() -> None:
    container = submitter(job(), Settings(login_shell=True))["spec"]["template"]["spec"]["containers"][0]
    assert container["command"][1] == "-cel"


def test_metadata_with_an_old_ray_makes_the_submitter_impossible_also_under_a_command_of_the_users() -> None:
    users = template_of({"command": ["x"]})
    old = {**MINIMAL["spec"], "rayVersion": "2.5.0"}
    made = submitter(job({"metadata": {"k": "v"}, "rayClusterSpec": old, "submitterPodTemplate": users}))
    assert isinstance(made, Impossible)


def test_a_cluster_with_a_token_gives_it_to_the_submitter() -> None:
    spec = {**MINIMAL["spec"], "authOptions": {"mode": "token"}}
    container = submitter(job({"rayClusterSpec": spec}))["spec"]["template"]["spec"]["containers"][0]
    names = [variable["name"] for variable in container["env"]]
    assert names[-2:] == ["RAY_AUTH_MODE", "RAY_AUTH_TOKEN"]


@pytest.mark.parametrize("scheduler", ["volcano", "yunikorn"])
def test_the_submitter_is_scheduled_with_the_gang(scheduler: str) -> None:
    made = submitter(job(labels={"ray.io/gang-scheduling-enabled": ""}), Settings(batch_scheduler=scheduler))
    template = made["spec"]["template"]
    assert template["spec"]["schedulerName"] == scheduler
    assert "submittergroup" in template["metadata"]["annotations"].values()


@pytest.mark.parametrize(
    ("mode", "cpu"), [("K8sJobMode", "500m"), ("SidecarMode", "500m"), ("HTTPMode", None), ("InteractiveMode", None)]
)
def test_volcano_counts_what_the_submitter_asks_for_and_not_the_submitter(mode: str, cpu: str | None) -> None:
    made = job({"submissionMode": mode})
    group = build_job_pod_group(made, Settings(batch_scheduler="volcano"))
    assert isinstance(group, dict)
    assert group["metadata"]["name"] == "ray-j-pg"
    assert group["metadata"]["ownerReferences"][0]["kind"] == "RayJob"
    assert group["spec"]["minMember"] == 2
    assert group["spec"]["minResources"].get("cpu") == cpu


def test_the_head_service_of_a_job_selects_the_cluster_it_has_now() -> None:
    made = job()
    service = build_job_head_service(made, spec_of(made), "j-abcde", Settings())
    assert service["metadata"]["name"] == "j-head-svc"
    assert service["metadata"]["labels"]["ray.io/identifier"] == "j-head"
    assert service["spec"]["selector"]["ray.io/cluster"] == "j-abcde"
    assert service["spec"]["selector"]["ray.io/identifier"] == "j-abcde-head"


def test_of_a_users_head_service_the_job_keeps_annotations_and_drops_labels() -> None:
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    users = {"metadata": metadata, "spec": {"ports": [{"name": "x", "port": 1}]}}
    head = {**MINIMAL["spec"]["headGroupSpec"], "headService": users}
    made = job({"rayClusterSpec": {**MINIMAL["spec"], "headGroupSpec": head, "headServiceAnnotations": {"e": "f"}}})
    service = build_job_head_service(made, spec_of(made), "j-abcde", Settings())
    assert service["metadata"]["annotations"] == {"c": "d"}
    assert "a" not in service["metadata"]["labels"]
    assert service["spec"]["ports"][0]["name"] == "x"


@pytest.mark.parametrize(
    ("ports", "url"),
    [
        ([{"name": "a", "port": 1}, {"name": "dashboard", "port": 9}], "h.ns.svc.cluster.local:9"),
        ([{"name": "a", "port": 1}], None),
        ([], None),
    ],
)
def test_the_dashboard_is_where_the_head_service_names_it(ports: list[Any], url: str | None) -> None:
    service = {"metadata": {"name": "h", "namespace": "ns"}, "spec": {"ports": ports}}
    assert find_dashboard_url(service, Settings()) == url


def test_an_attempt_has_names_of_its_own_and_the_same_ones_each_time() -> None:
    first = name_attempt(job(), 0)
    assert first == name_attempt(job(), 0)
    others = [name_attempt(job(), 1), name_attempt(job(generation=2), 0), name_attempt(job(uid="v"), 0)]
    assert len({names.cluster for names in (first, *others)}) == 4
    assert len({names.job_id for names in (first, *others)}) == 4
    assert len(first.cluster) == len(first.job_id) == len("j-") + 5


def test_a_given_job_id_and_a_chosen_cluster_stay() -> None:
    chosen = job({"jobId": "mine", "rayClusterSpec": None, "clusterSelector": {"ray.io/cluster": "theirs"}})
    assert (name_attempt(chosen, 3).job_id, name_attempt(chosen, 3).cluster) == ("mine", "theirs")


def test_in_interactive_mode_the_id_comes_later() -> None:
    assert name_attempt(job({"submissionMode": "InteractiveMode", "jobId": "given-early"}), 0).job_id == ""
