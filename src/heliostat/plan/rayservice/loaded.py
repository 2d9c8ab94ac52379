"""What the Pods of a RayService read beside their spec: ConfigMaps and Secrets. Pure.

An application is loaded once. When one of these changes and the spec does not, Serve is told nothing and goes on with
what it has loaded.
"""

from collections.abc import Iterator
from typing import Any

from heliostat.api.markers import JsonObject

CONFIG_MAP, SECRET = "ConfigMap", "Secret"
_BY_NAME = {
    "configMap": CONFIG_MAP,
    "configMapRef": CONFIG_MAP,
    "configMapKeyRef": CONFIG_MAP,
    "secret": SECRET,
    "secretRef": SECRET,
    "secretKeyRef": SECRET,
}


def tell_loaded(service: JsonObject, kind: str, name: str) -> str:
    """Of a ConfigMap or Secret that changes while the cluster stays; empty when its Pods do not read it."""
    if (kind, name) not in set(_list_read(service["spec"].get("rayClusterConfig"))):
        return ""
    return (
        f"{kind} {name} changes and the RayCluster stays: applications that run keep what they have loaded of it;"
        " change a value in spec.rayClusterConfig too, such as one in env, and a new RayCluster reads it"
    )


def _list_read(tree: Any) -> Iterator[tuple[str, str]]:
    """Wherever a Pod template names one."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in _BY_NAME and isinstance(value, dict):
                yield _BY_NAME[key], str(value.get("name") or value.get("secretName") or "")
            yield from _list_read(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _list_read(value)
