"""What is said of a ConfigMap or Secret that changes while the cluster stays."""

from typing import Any

import pytest

from heliostat.plan.rayservice.loaded import tell_loaded


def service(**pod: Any) -> dict[str, Any]:
    return {"spec": {"rayClusterConfig": {"headGroupSpec": {"template": {"spec": pod}}}}}


@pytest.mark.parametrize(
    ("pod", "kind"),
    [
        ({"volumes": [{"name": "code", "configMap": {"name": "echo"}}]}, "ConfigMap"),
        ({"volumes": [{"name": "code", "projected": {"sources": [{"configMap": {"name": "echo"}}]}}]}, "ConfigMap"),
        ({"containers": [{"envFrom": [{"configMapRef": {"name": "echo"}}]}]}, "ConfigMap"),
        ({"volumes": [{"name": "code", "secret": {"secretName": "echo"}}]}, "Secret"),
        ({"containers": [{"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "echo"}}}]}]}, "Secret"),
    ],
)
def test_what_pods_read_is_told_and_nothing_else(pod: dict[str, Any], kind: str) -> None:
    told = tell_loaded(service(**pod), kind, "echo")
    assert told.startswith(f"{kind} echo changes and the RayCluster stays: applications that run keep what")
    assert "spec.rayClusterConfig" in told
    assert tell_loaded(service(**pod), kind, "other") == ""
    assert tell_loaded(service(**pod), "Namespace", "echo") == ""
