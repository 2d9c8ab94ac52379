"""Rules of mutual TLS: V-S52 to V-S54, and whether cert-manager is there to issue the certificates.

With TLS on, the operator owns four variables and one mount in every Ray container and in the autoscaler's.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from heliostat.api.cluster_features import is_tls_enabled
from heliostat.api.validation.pod_template import find_named, objects, ray_container
from heliostat.api.validation.scope import HEAD_CONTAINER, SpecScope, group_path
from heliostat.kube.paths import Path
from heliostat.kube.problems import Problem

TLS_GATE = "RayClusterMTLS"
TLS_ENV = ("RAY_USE_TLS", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")
TLS_VOLUME, TLS_MOUNT_PATH = "ray-tls", "/etc/ray/tls"
CERT_MANAGER_RULE = "R1-3.6"


def tls_problems(scope: SpecScope) -> Iterator[Problem]:
    options = scope.spec.tls_options
    if options is None:
        return
    if not scope.settings.gate(TLS_GATE):
        yield scope.problem(
            "V-S52",
            ("tlsOptions",),
            f"spec.tlsOptions requires the {TLS_GATE} feature gate to be enabled",
            f"start the operator with --feature-gates={TLS_GATE}=true, or remove tlsOptions",
        )
    if options.enabled is True:
        yield from _managed_parts_problems(scope)


def cert_manager_problems(scope: SpecScope) -> Iterator[Problem]:
    """KubeRay: R1-3 step 6, after every rule of the spec."""
    if is_tls_enabled(scope.spec, scope.settings) and not scope.settings.cert_manager:
        yield scope.problem(
            CERT_MANAGER_RULE,
            ("tlsOptions", "enabled"),
            "tlsOptions is enabled, but the API cert-manager.io/v1 was not served when the operator started",
            "install cert-manager and restart the operator, or remove tlsOptions",
        )


def _managed_parts_problems(scope: SpecScope) -> Iterator[Problem]:
    head = ray_container(scope.head.template)
    yield from _env_problems(scope, head.get("env"), (*HEAD_CONTAINER, "env"), "head Pod")
    yield from _mount_problems(scope, head.get("volumeMounts"), (*HEAD_CONTAINER, "volumeMounts"), "head Pod")
    for index, group in enumerate(scope.groups):
        container, path = ray_container(group.template), group_path(index, "template", "spec", "containers", 0)
        place = f'worker group "{group.group_name}"'
        yield from _env_problems(scope, container.get("env"), (*path, "env"), place)
        yield from _mount_problems(scope, container.get("volumeMounts"), (*path, "volumeMounts"), place)
    options = scope.spec.autoscaler_options
    if options is not None:
        env, mounts = ("autoscalerOptions", "env"), ("autoscalerOptions", "volumeMounts")
        yield from _env_problems(scope, options.env, env, "autoscalerOptions.env")
        yield from _mount_problems(scope, options.volume_mounts, mounts, "autoscalerOptions.volumeMounts")


def _env_problems(scope: SpecScope, env: Any, path: Path, place: str) -> Iterator[Problem]:
    whose = "for the autoscaler " if path[0] == "autoscalerOptions" else ""
    for index, variable in chain.from_iterable(find_named(env, name) for name in TLS_ENV):
        yield scope.problem(
            "V-S53",
            (*path, index),
            f"cannot set {variable['name']} environment variable in {place} when tlsOptions is set"
            f" - the operator manages TLS configuration {whose}automatically",
            "remove the variable: the operator sets it",
        )


def _mount_problems(scope: SpecScope, mounts: Any, path: Path, place: str) -> Iterator[Problem]:
    for index, mount in enumerate(objects(mounts)):
        if mount.get("name") == TLS_VOLUME:
            what = f'named "{TLS_VOLUME}"'
        elif mount.get("mountPath") == TLS_MOUNT_PATH:
            what = f'at path "{TLS_MOUNT_PATH}"'
        else:
            continue
        yield scope.problem(
            "V-S54",
            (*path, index),
            f"cannot use volume mount {what} in {place} when tlsOptions is set"
            " - the operator manages TLS configuration automatically",
            "rename the mount and mount it elsewhere: the operator mounts the certificates there",
        )
