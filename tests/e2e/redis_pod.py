"""Real Redis servers in Pods of their own, one open and one closed, for clusters that keep their state in them."""

import shutil
from typing import Any

import pytest

from e2e.clusters import apply
from e2e.local_machine import LocalMachine

OPEN, CLOSED = "open-redis", "redis"
PASSWORD = "open-sesame"
USER = "keeper"  # besides the user without a name; of the closed one
SECRET = {"secretKeyRef": {"name": "redis-password", "key": "password"}}
GCS_OPTIONS = {"redisAddress": f"{CLOSED}:6379", "redisPassword": {"valueFrom": SECRET}}

_START = ("redis-server",)  # nothing about protected mode: the image has none
_LOCK = ("--requirepass", "$(PASSWORD)", "--user", USER, "on", ">$(PASSWORD)", "~*", "&*", "+@all")


def start_redis(machine: LocalMachine, *names: str) -> None:
    """The closed one, unless told otherwise."""
    if shutil.which(_START[0]) is None:
        pytest.skip("Redis is not installed here: as root, apt-get install redis-server")
    for name in names or (CLOSED,):
        apply(machine, *_build_redis(name))
        machine.kubectl("wait", f"pod/{name}", "--for=condition=Ready", "--timeout=60s")


def count_keys(machine: LocalMachine, name: str = CLOSED) -> int:
    words = machine.kubectl("exec", name, "--", *_as_client(name), "dbsize")
    return int(words.split()[-1])


def _as_client(name: str) -> tuple[str, ...]:
    return ("redis-cli", *(("--no-auth-warning", "-a", PASSWORD) if name == CLOSED else ()))


def _build_redis(name: str) -> tuple[dict[str, Any], ...]:
    return (
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "redis-password"},
            "stringData": {"password": PASSWORD},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"name": "redis", "port": 6379}]},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": [_build_container(name)]},
        },
    )


def _build_container(name: str) -> dict[str, Any]:
    return {
        "name": "redis",
        "image": "redis:7.4.0",
        "command": [*_START, *(_LOCK if name == CLOSED else ())],
        "env": [{"name": "PASSWORD", "valueFrom": SECRET}],
        "ports": [{"containerPort": 6379}],
        "readinessProbe": {"exec": {"command": [*_as_client(name), "ping"]}},
    }
