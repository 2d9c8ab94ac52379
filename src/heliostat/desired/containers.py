"""Editing a container in place: environment, mounts, volumes. Used on copies that a builder owns."""

from collections.abc import Iterable

from heliostat.api.markers import JsonObject


def append_env(container: JsonObject, *variables: JsonObject) -> None:
    """Append always. A name may then stand twice; the kubelet takes the last one."""
    container["env"] = [*(container.get("env") or []), *variables]


def append_env_if_absent(container: JsonObject, *variables: JsonObject) -> None:
    for variable in variables:
        if not has_env(container, variable["name"]):
            append_env(container, variable)


def has_env(container: JsonObject, name: str) -> bool:
    return any(variable.get("name") == name for variable in container.get("env") or [])


def env(name: str, value: str) -> JsonObject:
    return {"name": name, "value": value}


def field_env(name: str, field_path: str) -> JsonObject:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field_path}}}


def add_mount(container: JsonObject, mount: JsonObject) -> None:
    container["volumeMounts"] = [*(container.get("volumeMounts") or []), mount]


def has_mount_at(container: JsonObject, path: str) -> bool:
    return any(mount.get("mountPath") == path for mount in container.get("volumeMounts") or [])


def has_mount_named(container: JsonObject, name: str) -> bool:
    return any(mount.get("name") == name for mount in container.get("volumeMounts") or [])


def add_volume_once(pod_spec: JsonObject, volume: JsonObject) -> None:
    """A volume of that name that is already there is used as it is."""
    volumes = pod_spec.get("volumes") or []
    if not any(existing.get("name") == volume["name"] for existing in volumes):
        pod_spec["volumes"] = [*volumes, volume]


def find_container(containers: Iterable[JsonObject] | None, name: str) -> JsonObject | None:
    return next((container for container in containers or () if container.get("name") == name), None)


def fixed_resources(cpu: str, memory: str) -> JsonObject:
    return {"limits": {"cpu": cpu, "memory": memory}, "requests": {"cpu": cpu, "memory": memory}}


def copy_if_set(source: JsonObject, target: JsonObject, *keys: str) -> None:
    for key in keys:
        if source.get(key) is not None:
            target[key] = source[key]
