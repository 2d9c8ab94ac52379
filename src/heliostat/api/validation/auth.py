"""Rules of token authentication: V-S45 to V-S47."""

from collections.abc import Iterator

from heliostat.api.cluster_features import is_token_auth
from heliostat.api.ray_version import is_version_at_least, parse_ray_version
from heliostat.api.validation.groups import version_trouble
from heliostat.api.validation.scope import SpecScope
from heliostat.kube.problems import Problem

TOKEN_SINCE = (2, 52, 0)
K8S_TOKEN_SINCE = (2, 55, 0)


def auth_problems(scope: SpecScope) -> Iterator[Problem]:
    if is_token_auth(scope.spec):
        yield from _token_problems(scope)
        yield from _k8s_token_problems(scope)
    elif _asks_k8s_token(scope):
        yield scope.problem(
            "V-S47",
            ("authOptions", "enableK8sTokenAuth"),
            "authOptions.enableK8sTokenAuth is enabled but authOptions.mode not set to 'token'",
            f"set {scope.where('authOptions', 'mode')}: token, or remove enableK8sTokenAuth",
        )


def _asks_k8s_token(scope: SpecScope) -> bool:
    return scope.spec.auth_options is not None and scope.spec.auth_options.enable_k8s_token_auth is True


def _token_problems(scope: SpecScope) -> Iterator[Problem]:
    trouble = version_trouble(scope.spec.ray_version, TOKEN_SINCE)
    if trouble:
        yield scope.problem(
            "V-S45",
            ("authOptions", "mode"),
            f"authOptions.mode is 'token' but {trouble}",
            f"set {scope.where('rayVersion')} to the version in the image, 2.52.0 or later, or use mode: disabled",
        )


def _k8s_token_problems(scope: SpecScope) -> Iterator[Problem]:
    auth = scope.spec.auth_options
    if auth is None or not _asks_k8s_token(scope):
        return
    version = parse_ray_version(scope.spec.ray_version)
    if version is not None and not is_version_at_least(version, K8S_TOKEN_SINCE):
        yield scope.problem(
            "V-S46",
            ("authOptions", "enableK8sTokenAuth"),
            "authOptions.enableK8sTokenAuth is enabled but minimum Ray version is 2.55.0,"
            f" got {scope.spec.ray_version}",
            f"use Ray 2.55.0 or later and say so in {scope.where('rayVersion')}, or remove enableK8sTokenAuth",
        )
    if auth.secret_name:
        yield scope.problem(
            "V-S46",
            ("authOptions", "secretName"),
            "authOptions.enableK8sTokenAuth is enabled and authOptions.secretName is also set",
            "remove secretName: with Kubernetes tokens no shared secret is used",
        )
