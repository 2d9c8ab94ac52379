"""V-S37 to V-S44: the history server's collector."""

import pytest

from heliostat.api.settings import Settings
from heliostat.api.validation import cluster_problems
from ray_documents import Tree, brief, cluster, env, group, groups, head, with_gates

ON = with_gates(RayClusterHistoryServer=True)
ENV = "spec.historyServerOptions.collectorOptions.env"
FROM_SECRET: Tree = {"secretKeyRef": {"name": "s", "key": "k"}}


def collector(**variables: str) -> Tree:
    return {"historyServerOptions": {"collectorOptions": {"image": "collector:1"} | env(**variables)}}


def sidecar(name: str) -> Tree:
    return {"containers": [{"name": "ray", "image": "ray"}, {"name": name, "image": "x"}]}


S3 = collector(STORAGE_BACKEND="S3", S3_REGION="eu")

ACCEPTED: list[tuple[str, list[Tree]]] = [
    ("S3", [S3]),
    ("lower case backend", [collector(STORAGE_BACKEND="gcs", GCS_BUCKET="b")]),
    ("Aliyun", [collector(STORAGE_BACKEND="AliyunOSS", OSS_BUCKET="b", OSS_ENDPOINT="e", OSS_REGION="r")]),
    ("Azure, connection string", [collector(STORAGE_BACKEND="azureblob", AZURE_STORAGE_CONNECTION_STRING="c")]),
    ("Azure, account URL", [collector(STORAGE_BACKEND="azureblob", AZURE_STORAGE_ACCOUNT_URL="u")]),
    (
        "Azure, workload identity in another spelling",
        [
            collector(
                STORAGE_BACKEND="azureblob",
                AZURE_STORAGE_AUTH_MODE=" Workload_Identity ",
                AZURE_STORAGE_ACCOUNT_URL="u",
            )
        ],
    ),
    ("an unknown backend", [collector(STORAGE_BACKEND="floppy")]),
    (
        "a needed variable from a secret",
        [
            {
                "historyServerOptions": {
                    "collectorOptions": {
                        "image": "c",
                        "env": [
                            {"name": "STORAGE_BACKEND", "value": "S3"},
                            {"name": "S3_REGION", "valueFrom": FROM_SECRET},
                        ],
                    }
                }
            }
        ],
    ),
    ("other sidecars", [S3, head(pod=sidecar("fluentd"))]),
    ("the container's name without options", [head(pod=sidecar("ray-history-collector"))]),
]


@pytest.mark.parametrize(("title", "parts"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_accepted(title: str, parts: list[Tree]) -> None:
    assert brief(cluster_problems(cluster(*parts), ON)) == []


REFUSED: list[tuple[str, list[Tree], list[tuple[str, str]], str]] = [
    (
        "no collector",
        [{"historyServerOptions": {}}],
        [("V-S38", "spec.historyServerOptions.collectorOptions")],
        "historyServerOptions.collectorOptions must be set",
    ),
    (
        "no image",
        [{"historyServerOptions": {"collectorOptions": {"image": ""} | env(STORAGE_BACKEND="x")}}],
        [("V-S39", "spec.historyServerOptions.collectorOptions.image")],
        "historyServerOptions.collectorOptions.image must be set",
    ),
    (
        "reserved variables",
        [collector(STORAGE_BACKEND="x", OWNER_KIND="y", POD_IP="1")],
        [("V-S40", f"{ENV}[2]"), ("V-S40", f"{ENV}[1]")],
        "historyServerOptions.collectorOptions.env must not contain POD_IP: it is managed by KubeRay",
    ),
    (
        "no backend",
        [collector()],
        [("V-S41", ENV)],
        (
            "STORAGE_BACKEND environment variable must be set with a literal string value in"
            " historyServerOptions.collectorOptions.env"
        ),
    ),
    (
        "backend from a secret",
        [
            {
                "historyServerOptions": {
                    "collectorOptions": {"image": "c", "env": [{"name": "STORAGE_BACKEND", "valueFrom": FROM_SECRET}]}
                }
            }
        ],
        [("V-S41", ENV)],
        "must be set with a literal string value",
    ),
    (
        "GCS without a bucket",
        [collector(STORAGE_BACKEND="GCS")],
        [("V-S42", ENV)],
        "GCS_BUCKET environment variable must be set when STORAGE_BACKEND is GCS",
    ),
    (
        "S3 with an empty region",
        [collector(STORAGE_BACKEND="s3", S3_REGION="")],
        [("V-S42", ENV)],
        "S3_REGION environment variable must be set when STORAGE_BACKEND is S3",
    ),
    (
        "Aliyun without anything",
        [collector(STORAGE_BACKEND="ALIYUNOSS")],
        [("V-S42", ENV)] * 3,
        "OSS_BUCKET environment variable must be set when STORAGE_BACKEND is ALIYUNOSS",
    ),
    (
        "Azure by connection string",
        [
            collector(
                STORAGE_BACKEND="AZUREBLOB", AZURE_STORAGE_AUTH_MODE="connection_string", AZURE_STORAGE_ACCOUNT_URL="u"
            )
        ],
        [("V-S43", ENV)],
        (
            "AZURE_STORAGE_CONNECTION_STRING environment variable must be set when STORAGE_BACKEND is AZUREBLOB and"
            " AZURE_STORAGE_AUTH_MODE is connection_string"
        ),
    ),
    (
        "Azure by default credentials",
        [
            collector(
                STORAGE_BACKEND="AZUREBLOB", AZURE_STORAGE_AUTH_MODE="default", AZURE_STORAGE_CONNECTION_STRING="c"
            )
        ],
        [("V-S43", ENV)],
        (
            "AZURE_STORAGE_ACCOUNT_URL environment variable must be set when STORAGE_BACKEND is AZUREBLOB and"
            " AZURE_STORAGE_AUTH_MODE is default"
        ),
    ),
    (
        "Azure without a known mode",
        [collector(STORAGE_BACKEND="AZUREBLOB", AZURE_STORAGE_AUTH_MODE="magic")],
        [("V-S43", ENV)],
        "either AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_URL environment variable must be set when",
    ),
    (
        "the container's name on the head",
        [S3, head(pod=sidecar("ray-history-collector"))],
        [("V-S44", "spec.headGroupSpec.template.spec.containers[1]")],
        "name 'ray-history-collector' when history server collector options are enabled",
    ),
    (
        "the container's name in a group",
        [S3, groups(group("a"), group("b", pod=sidecar("ray-history-collector")))],
        [("V-S44", "spec.workerGroupSpecs[1].template.spec.containers[1]")],
        "worker group b pod template must not define a container with name 'ray-history-collector'",
    ),
]


@pytest.mark.parametrize(("title", "parts", "found", "text"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(title: str, parts: list[Tree], found: list[tuple[str, str]], text: str) -> None:
    problems = list(cluster_problems(cluster(*parts), ON))
    assert brief(problems) == found
    assert text in problems[0].problem


def test_the_options_need_their_gate() -> None:
    (problem,) = cluster_problems(cluster(S3), Settings())
    assert (problem.rule, problem.problem) == ("V-S37", "RayClusterHistoryServer feature gate is not enabled")
