"""V-S15 to V-S28: GCS fault tolerance."""

import pytest

from heliostat.api.settings import Settings
from heliostat.api.validation import cluster_problems
from ray_documents import Tree, brief, cluster, env, head, with_gates

EMBEDDED = with_gates(GCSFaultToleranceEmbeddedStorage=True)
HEAD_ENV = "spec.headGroupSpec.template.spec.containers[0].env"
OPTIONS = "spec.gcsFaultToleranceOptions"
STORAGE_NAMESPACE = "ray.io/external-storage-namespace"


def options(**fields: object) -> Tree:
    return {"gcsFaultToleranceOptions": fields}


def rocksdb(**fields: object) -> Tree:
    return options(backend="rocksdb", **fields)


def head_mount(**mount: str) -> Tree:
    return head({"volumeMounts": [{"name": "other", "mountPath": "/x"}, mount]})


ON: Tree = {"ray.io/ft-enabled": "true"}
ACCEPTED: list[tuple[str, list[Tree], Tree]] = [
    ("annotation alone", [], ON),
    (
        "annotation with an address in the environment",
        [head(env(RAY_REDIS_ADDRESS="r:1"))],
        {"ray.io/ft-enabled": "TRUE"},
    ),
    ("annotation with a password param", [head(rayStartParams={"redis-password": "x"})], ON),
    ("annotation with a password in the environment", [head(env(REDIS_PASSWORD="x"))], ON),
    ("annotation with a storage namespace", [], ON | {STORAGE_NAMESPACE: "n"}),
    ("options without an address", [options()], {}),
    ("options with an address and credentials", [options(redisAddress="r:1", redisPassword={"value": "x"})], {}),
    ("options beside an empty annotation", [options()], {"ray.io/ft-enabled": "", STORAGE_NAMESPACE: ""}),
    ("an empty password param", [options(), head(rayStartParams={"redis-password": "", "redis-username": ""})], {}),
    ("rocksdb", [rocksdb()], {}),
    ("rocksdb with a size", [rocksdb(storage={"size": "1Gi", "storageClassName": "fast"})], {}),
    ("rocksdb with a claim", [rocksdb(storage={"claimName": "c", "subPath": "p", "deletionPolicy": "Retain"})], {}),
    ("rocksdb with an empty address", [rocksdb(redisAddress="", externalStorageNamespace="")], {}),
    ("rocksdb with a mount elsewhere", [rocksdb(), head_mount(name="d", mountPath="/data")], {}),
]


@pytest.mark.parametrize(("title", "parts", "annotations"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_accepted(title: str, parts: list[Tree], annotations: Tree) -> None:
    assert brief(cluster_problems(cluster(*parts, annotations=annotations), EMBEDDED)) == []


REFUSED: list[tuple[str, list[Tree], Tree, list[tuple[str, str]], str]] = [
    (
        "annotation and options",
        [options()],
        {"ray.io/ft-enabled": "false"},
        [("V-S15", "metadata.annotations[ray.io/ft-enabled]")],
        "ray.io/ft-enabled annotation and GcsFaultToleranceOptions are both set",
    ),
    (
        "address without fault tolerance",
        [head(env(RAY_REDIS_ADDRESS="r:1"))],
        {},
        [("V-S16", f"{HEAD_ENV}[0]")],
        "RAY_REDIS_ADDRESS is set which implicitly enables GCS fault tolerance, but GcsFaultToleranceOptions is not",
    ),
    (
        "address with fault tolerance switched off",
        [head(env(A="1", RAY_REDIS_ADDRESS="r:1"))],
        {"ray.io/ft-enabled": "false"},
        [("V-S16", f"{HEAD_ENV}[1]")],
        "RAY_REDIS_ADDRESS is set which implicitly enables GCS fault tolerance, but GcsFaultToleranceOptions is not",
    ),
    (
        "password param and options",
        [options(), head(rayStartParams={"redis-password": "x"})],
        {},
        [("V-S17", "spec.headGroupSpec.rayStartParams.redis-password")],
        (
            "cannot set `redis-password` in rayStartParams when GcsFaultToleranceOptions is enabled"
            " - use GcsFaultToleranceOptions.RedisPassword instead"
        ),
    ),
    (
        "password in the environment and options",
        [options(), head(env(REDIS_PASSWORD="x"))],
        {},
        [("V-S18", f"{HEAD_ENV}[0]")],
        (
            "cannot set `REDIS_PASSWORD` env var in head Pod when GcsFaultToleranceOptions is enabled"
            " - use GcsFaultToleranceOptions.RedisPassword instead"
        ),
    ),
    (
        "address in the environment and options",
        [options(), head(env(RAY_REDIS_ADDRESS="r:1"))],
        {},
        [("V-S19", f"{HEAD_ENV}[0]")],
        (
            "cannot set `RAY_REDIS_ADDRESS` env var in head Pod when GcsFaultToleranceOptions is enabled"
            " - use GcsFaultToleranceOptions.RedisAddress instead"
        ),
    ),
    (
        "storage namespace annotation and options",
        [options()],
        {STORAGE_NAMESPACE: "n"},
        [("V-S20", f"metadata.annotations[{STORAGE_NAMESPACE}]")],
        (
            "cannot set `ray.io/external-storage-namespace` annotation when GcsFaultToleranceOptions is enabled"
            " - use GcsFaultToleranceOptions.ExternalStorageNamespace instead"
        ),
    ),
    (
        "rocksdb with redis fields, in their order",
        [
            rocksdb(
                externalStorageNamespace="n",
                redisPassword={"value": "x"},
                redisUsername={"value": "u"},
                redisAddress="r",
            )
        ],
        {},
        [
            ("V-S22", f"{OPTIONS}.redisAddress"),
            ("V-S22", f"{OPTIONS}.redisUsername"),
            ("V-S22", f"{OPTIONS}.redisPassword"),
            ("V-S22", f"{OPTIONS}.externalStorageNamespace"),
        ],
        "cannot set GcsFaultToleranceOptions.RedisAddress when backend is 'rocksdb'",
    ),
    (
        "rocksdb with a claim and a size",
        [rocksdb(storage={"claimName": "c", "size": "1Gi"})],
        {},
        [("V-S23", f"{OPTIONS}.storage.claimName")],
        "ClaimName is mutually exclusive with size, storageClassName, and accessModes",
    ),
    (
        "rocksdb with a claim and access modes",
        [rocksdb(storage={"claimName": "c", "accessModes": ["ReadWriteOnce"]})],
        {},
        [("V-S23", f"{OPTIONS}.storage.claimName")],
        "mutually exclusive",
    ),
    (
        "rocksdb with a storage variable",
        [rocksdb(), head(env(RAY_gcs_storage_path="/x"))],
        {},
        [("V-S24", f"{HEAD_ENV}[0]")],
        "env var in head Pod when the embedded GCS FT backend is used - these are managed by KubeRay",
    ),
    (
        "rocksdb with a mount at the path",
        [rocksdb(), head_mount(name="d", mountPath="/data/gcs")],
        {},
        [("V-S25", "spec.headGroupSpec.template.spec.containers[0].volumeMounts[1]")],
        "or mounted at /data/gcs in the head container when the embedded GCS FT backend is used - it",
    ),
    (
        "rocksdb with a mount of the name",
        [rocksdb(), head_mount(name="gcs-storage", mountPath="/y")],
        {},
        [("V-S25", "spec.headGroupSpec.template.spec.containers[0].volumeMounts[1]")],
        "or mounted at /data/gcs in the head container when the embedded GCS FT backend is used - it",
    ),
    (
        "rocksdb with a volume of the name",
        [rocksdb(), head(pod={"volumes": [{"name": "gcs-storage"}]})],
        {},
        [("V-S26", "spec.headGroupSpec.template.spec.volumes[0]")],
        'volume named "gcs-storage" in the head Pod when the embedded GCS FT backend is used - it is managed',
    ),
    (
        "redis with storage",
        [options(storage={"size": "1Gi"})],
        {},
        [("V-S27", f"{OPTIONS}.storage")],
        "cannot set GcsFaultToleranceOptions.Storage when backend is 'redis' - it only applies to",
    ),
    (
        "username param, without fault tolerance too",
        [head(rayStartParams={"redis-username": "u"})],
        {},
        [("V-S28", "spec.headGroupSpec.rayStartParams.redis-username")],
        "use GcsFaultToleranceOptions.RedisUsername instead",
    ),
    (
        "username in the environment, with the annotation too",
        [head(env(REDIS_USERNAME="u"))],
        ON,
        [("V-S28", f"{HEAD_ENV}[0]")],
        "use GcsFaultToleranceOptions.RedisUsername instead",
    ),
]


@pytest.mark.parametrize(("title", "parts", "annotations", "found", "text"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(title: str, parts: list[Tree], annotations: Tree, found: list[tuple[str, str]], text: str) -> None:
    problems = list(cluster_problems(cluster(*parts, annotations=annotations), EMBEDDED))
    assert brief(problems) == found
    assert text in problems[0].problem


def test_rocksdb_needs_its_gate() -> None:
    (problem,) = cluster_problems(cluster(rocksdb()), Settings())
    assert (problem.rule, problem.path[-1]) == ("V-S21", "backend")
    assert "requires the GCSFaultToleranceEmbeddedStorage feature gate to be enabled" in problem.problem
