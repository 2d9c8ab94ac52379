"""Fields of features that Kubernetes 1.34 has but keeps switched off: they are dropped as if never written."""

from heliostat.kube.jsontree import JsonObject


def drop_disabled(spec: JsonObject) -> None:
    """From the spec of a Pod or a template, in place."""
    spec.pop("hostnameOverride", None)
    if any("image" in volume for volume in spec.get("volumes") or ()):
        _drop_image_volumes(spec)
    for container in spec.get("containers") or ():
        container.pop("restartPolicy", None)
        _drop_from_container(container)
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") != "Always":
            container.pop("restartPolicy", None)
        _drop_from_container(container)


def _drop_image_volumes(spec: JsonObject) -> None:
    dropped = {volume.get("name") for volume in spec["volumes"] if "image" in volume}
    _keep(spec, "volumes", [volume for volume in spec["volumes"] if "image" not in volume])
    for part in ("containers", "initContainers"):
        for container in spec.get(part) or ():
            mounts = container.get("volumeMounts") or ()
            _keep(container, "volumeMounts", [mount for mount in mounts if mount.get("name") not in dropped])


def _keep(tree: JsonObject, field: str, items: list[JsonObject]) -> None:
    if items:
        tree[field] = items
    else:
        tree.pop(field, None)


def _drop_from_container(container: JsonObject) -> None:
    container.pop("restartPolicyRules", None)
    lifecycle = container.get("lifecycle")
    if lifecycle is not None and lifecycle.pop("stopSignal", None) is not None and not lifecycle:
        del container["lifecycle"]
    for variable in container.get("env") or ():
        (variable.get("valueFrom") or {}).pop("fileKeyRef", None)
