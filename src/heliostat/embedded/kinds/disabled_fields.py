"""Fields of features that Kubernetes 1.34 has but keeps switched off: they are dropped as if never written."""

from heliostat.kube.jsontree import JsonObject


def drop_disabled(spec: JsonObject) -> None:
    """From the spec of a Pod or a template, in place."""
    spec.pop("hostnameOverride", None)
    for container in spec.get("containers") or ():
        container.pop("restartPolicy", None)
        _drop_from_container(container)
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") != "Always":
            container.pop("restartPolicy", None)
        _drop_from_container(container)


def _drop_from_container(container: JsonObject) -> None:
    container.pop("restartPolicyRules", None)
    lifecycle = container.get("lifecycle")
    if lifecycle is not None and lifecycle.pop("stopSignal", None) is not None and not lifecycle:
        del container["lifecycle"]
    for variable in container.get("env") or ():
        (variable.get("valueFrom") or {}).pop("fileKeyRef", None)
