"""Rules of GCS fault tolerance: V-S15 to V-S28.

Settings come from one place only: the annotation (old) or gcsFaultToleranceOptions (new), and the new way owns the
Redis variables. With the embedded backend (rocksdb) the operator owns the storage variables, the mount and the volume.
"""

from collections.abc import Iterator

from heliostat.api.cluster_features import FT_ENABLED_ANNOTATION, is_gcs_ft_embedded, is_gcs_ft_enabled
from heliostat.api.raycluster import GcsStorage
from heliostat.api.validation.pod_template import find_named, objects, pod_spec, ray_container
from heliostat.api.validation.scope import HEAD_CONTAINER, HEAD_ENV, HEAD_TEMPLATE, SpecScope
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem

STORAGE_NAMESPACE_ANNOTATION = "ray.io/external-storage-namespace"
GCS_VOLUME, GCS_MOUNT_PATH = "gcs-storage", "/data/gcs"
EMBEDDED_GATE = "GCSFaultToleranceEmbeddedStorage"
_OPTIONS: Path = ("gcsFaultToleranceOptions",)
_PARAMS: Path = ("headGroupSpec", "rayStartParams")
_EMBEDDED = "when the embedded GCS FT backend is used"


def gcs_ft_problems(scope: SpecScope) -> Iterator[Problem]:
    yield from _enablement_problems(scope)
    if scope.spec.gcs_fault_tolerance_options is not None:
        yield from _second_source_problems(scope)
        yield from _embedded_problems(scope) if is_gcs_ft_embedded(scope.spec) else _redis_problems(scope)
    yield from _redis_username_problems(scope)


def _head_env_index(scope: SpecScope, *names: str) -> int | None:
    env = ray_container(scope.head.template).get("env")
    return next((index for index, _ in find_named(env, *names)), None)


def _enablement_problems(scope: SpecScope) -> Iterator[Problem]:
    if scope.annotations.get(FT_ENABLED_ANNOTATION) and scope.spec.gcs_fault_tolerance_options is not None:
        yield scope.annotation_problem(
            "V-S15",
            FT_ENABLED_ANNOTATION,
            f"{FT_ENABLED_ANNOTATION} annotation and GcsFaultToleranceOptions are both set."
            " Please use only GcsFaultToleranceOptions to configure GCS fault tolerance",
            f"remove the annotation; {scope.where(*_OPTIONS)} alone enables fault tolerance",
        )
    index = _head_env_index(scope, "RAY_REDIS_ADDRESS")
    if index is not None and not is_gcs_ft_enabled(scope.spec, scope.annotations):
        yield scope.problem(
            "V-S16",
            (*HEAD_ENV, index),
            "RAY_REDIS_ADDRESS is set which implicitly enables GCS fault tolerance, but GcsFaultToleranceOptions is not"
            " set. Please set GcsFaultToleranceOptions to enable GCS fault tolerance",
            f"move the address to {scope.where(*_OPTIONS, 'redisAddress')}",
        )


def _second_source_problems(scope: SpecScope) -> Iterator[Problem]:
    if (scope.head.ray_start_params or {}).get("redis-password"):
        yield _second_source(
            scope, "V-S17", (*_PARAMS, "redis-password"), "`redis-password` in rayStartParams", "RedisPassword"
        )
    for rule, name, field in (
        ("V-S18", "REDIS_PASSWORD", "RedisPassword"),
        ("V-S19", "RAY_REDIS_ADDRESS", "RedisAddress"),
    ):
        index = _head_env_index(scope, name)
        if index is not None:
            yield _second_source(scope, rule, (*HEAD_ENV, index), f"`{name}` env var in head Pod", field)
    if scope.annotations.get(STORAGE_NAMESPACE_ANNOTATION):
        field = "ExternalStorageNamespace"
        yield scope.annotation_problem(
            "V-S20",
            STORAGE_NAMESPACE_ANNOTATION,
            _second_source_text(f"`{STORAGE_NAMESPACE_ANNOTATION}` annotation", field),
            _second_source_fix(scope, field),
        )


def _second_source(scope: SpecScope, rule: str, path: Path, thing: str, field: str) -> Problem:
    return scope.problem(rule, path, _second_source_text(thing, field), _second_source_fix(scope, field))


def _second_source_text(thing: str, field: str) -> str:
    return f"cannot set {thing} when GcsFaultToleranceOptions is enabled - use GcsFaultToleranceOptions.{field} instead"


def _second_source_fix(scope: SpecScope, field: str) -> str:
    return f"move the value to {scope.where(*_OPTIONS, field[0].lower() + field[1:])}"


def _embedded_problems(scope: SpecScope) -> Iterator[Problem]:
    if not scope.settings.gate(EMBEDDED_GATE):
        yield scope.problem(
            "V-S21",
            (*_OPTIONS, "backend"),
            "the embedded RocksDB GCS fault tolerance backend (GcsFaultToleranceOptions.Backend: 'rocksdb') requires"
            f" the {EMBEDDED_GATE} feature gate to be enabled",
            f"start the operator with --feature-gates={EMBEDDED_GATE}=true, or use the redis backend",
        )
    yield from _redis_fields_problems(scope)
    yield from _claim_problems(scope)
    yield from _reserved_storage_problems(scope)


def _redis_fields_problems(scope: SpecScope) -> Iterator[Problem]:
    options = scope.spec.gcs_fault_tolerance_options
    if options is None:
        return
    for field, is_set in (
        ("RedisAddress", bool(options.redis_address)),
        ("RedisUsername", options.redis_username is not None),
        ("RedisPassword", options.redis_password is not None),
        ("ExternalStorageNamespace", bool(options.external_storage_namespace)),
    ):
        if is_set:
            yield scope.problem(
                "V-S22",
                (*_OPTIONS, field[0].lower() + field[1:]),
                f"cannot set GcsFaultToleranceOptions.{field} when backend is 'rocksdb'",
                "remove it, or set backend: redis",
            )


def _claim_problems(scope: SpecScope) -> Iterator[Problem]:
    storage = scope.spec.gcs_fault_tolerance_options and scope.spec.gcs_fault_tolerance_options.storage
    if storage and storage.claim_name and _describes_a_claim(storage):
        yield scope.problem(
            "V-S23",
            (*_OPTIONS, "storage", "claimName"),
            "GcsFaultToleranceOptions.Storage.ClaimName is mutually exclusive with size, storageClassName, and"
            " accessModes",
            "remove claimName to let the operator make the claim, or remove size, storageClassName and accessModes",
        )


def _describes_a_claim(storage: GcsStorage) -> bool:
    return storage.size is not None or storage.storage_class_name is not None or bool(storage.access_modes)


def _reserved_storage_problems(scope: SpecScope) -> Iterator[Problem]:
    index = _head_env_index(scope, "RAY_gcs_storage", "RAY_gcs_storage_path")
    if index is not None:
        yield scope.problem(
            "V-S24",
            (*HEAD_ENV, index),
            f"cannot set `RAY_gcs_storage` or `RAY_gcs_storage_path` env var in head Pod {_EMBEDDED}"
            " - these are managed by KubeRay",
            "remove the variable",
        )
    mounts = objects(ray_container(scope.head.template).get("volumeMounts"))
    for index, mount in enumerate(mounts):
        if mount.get("name") == GCS_VOLUME or mount.get("mountPath") == GCS_MOUNT_PATH:
            yield scope.problem(
                "V-S25",
                (*HEAD_CONTAINER, "volumeMounts", index),
                f'cannot set a volume mount named "{GCS_VOLUME}" or mounted at {GCS_MOUNT_PATH} in the head container'
                f" {_EMBEDDED} - it is managed by KubeRay",
                "rename the mount and mount it elsewhere",
            )
    for index, _ in find_named(pod_spec(scope.head.template).get("volumes"), GCS_VOLUME):
        yield scope.problem(
            "V-S26",
            (*HEAD_TEMPLATE, "volumes", index),
            f'cannot set a volume named "{GCS_VOLUME}" in the head Pod {_EMBEDDED} - it is managed by KubeRay',
            "rename the volume",
        )


def _redis_problems(scope: SpecScope) -> Iterator[Problem]:
    options = scope.spec.gcs_fault_tolerance_options
    if options is not None and options.storage is not None:
        yield scope.problem(
            "V-S27",
            (*_OPTIONS, "storage"),
            "cannot set GcsFaultToleranceOptions.Storage when backend is 'redis' - it only applies to the 'rocksdb'"
            " backend",
            "remove storage, or set backend: rocksdb",
        )


def _redis_username_problems(scope: SpecScope) -> Iterator[Problem]:
    index = _head_env_index(scope, "REDIS_USERNAME")
    path: Path | None = None if index is None else (*HEAD_ENV, index)
    if (scope.head.ray_start_params or {}).get("redis-username"):
        path = (*_PARAMS, "redis-username")
    if path is not None:
        yield scope.problem(
            "V-S28",
            path,
            "cannot set redis username in rayStartParams or environment variables"
            " - use GcsFaultToleranceOptions.RedisUsername instead",
            _second_source_fix(scope, "RedisUsername"),
        )
