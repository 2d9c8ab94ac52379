"""A real Redis in a Pod of its own, behind a Service and a password, for clusters that keep their state in it."""

from typing import Any

from e2e.clusters import apply
from e2e.local_machine import LocalMachine

_PASSWORD = "open-sesame"
_REDIS: tuple[dict[str, Any], ...] = (
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "redis-password"},
        "stringData": {"password": _PASSWORD},
    },
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "redis"},
        "spec": {"selector": {"app": "redis"}, "ports": [{"name": "redis", "port": 6379}]},
    },
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "redis", "labels": {"app": "redis"}},
        "spec": {
            "containers": [
                {
                    "name": "redis",
                    "image": "redis:7.4.0",
                    "command": ["redis-server", "--protected-mode", "no", "--requirepass", "$(PASSWORD)"],
                    "env": [
                        {
                            "name": "PASSWORD",
                            "valueFrom": {"secretKeyRef": {"name": "redis-password", "key": "password"}},
                        }
                    ],
                    "ports": [{"containerPort": 6379}],
                    "readinessProbe": {"tcpSocket": {"port": 6379}},
                }
            ]
        },
    },
)

GCS_OPTIONS = {
    "redisAddress": "redis:6379",
    "redisPassword": {"valueFrom": {"secretKeyRef": {"name": "redis-password", "key": "password"}}},
}


def start_redis(machine: LocalMachine) -> None:
    apply(machine, *_REDIS)
    machine.kubectl("wait", "pod/redis", "--for=condition=Ready", "--timeout=60s")


def count_keys(machine: LocalMachine) -> int:
    words = machine.kubectl("exec", "redis", "--", "redis-cli", "--no-auth-warning", "-a", _PASSWORD, "dbsize")
    return int(words.split()[-1])
