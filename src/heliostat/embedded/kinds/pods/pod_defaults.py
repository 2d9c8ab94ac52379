"""What kube-apiserver fills into a Pod, and into the Pod template of other kinds, which get less of it.

A template stays as open as possible: requests that follow from limits, host ports and service links are filled in only
when it becomes a Pod.
"""

from heliostat.embedded.kinds.pods.container_defaults import fill_container
from heliostat.embedded.kinds.pods.disabled_fields import drop_disabled
from heliostat.embedded.kinds.pods.pod_resources import container_amounts
from heliostat.embedded.kinds.volumes.volume_defaults import fill_volume
from heliostat.kube.jsontree import JsonObject

GRACE_SECONDS = 30
_POD_LEVEL = ("cpu", "memory")


def fill_template(template: JsonObject | None) -> None:
    if template is not None:
        fill_pod_spec(template.setdefault("spec", {}))


def fill_pod_spec(spec: JsonObject) -> None:
    drop_disabled(spec)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", GRACE_SECONDS)
    spec.setdefault("schedulerName", "default-scheduler")
    _pair_account_names(spec)
    for volume in spec.get("volumes") or ():
        fill_volume(volume)
    for part in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(part) or ():
            fill_container(container)


def _pair_account_names(spec: JsonObject) -> None:
    """The old field follows the new one, which wins."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def fill_pod(pod: JsonObject) -> None:
    spec = pod.setdefault("spec", {})
    fill_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1  # a template keeps what it says
    if pod.get("status"):
        _pair_addresses(pod["status"])
    for part in ("containers", "initContainers"):
        for container in spec.get(part) or ():
            _request_what_is_limited(container)
            if spec.get("hostNetwork"):
                _use_host_ports(container)
    if spec.get("resources"):
        _request_for_the_pod(spec)


def _pair_addresses(status: JsonObject) -> None:
    """The one address is the first of the list; where they differ, the one wins."""
    one, several = status.get("podIP"), status.get("podIPs")
    if one and (not several or several[0].get("ip") != one):
        status["podIPs"] = [{"ip": one}]
    elif several:
        status["podIP"] = several[0].get("ip", "")


def _request_what_is_limited(container: JsonObject) -> None:
    resources = container.get("resources")
    if resources and resources.get("limits"):
        requests = resources.setdefault("requests", {})
        for name, quantity in resources["limits"].items():
            requests.setdefault(name, quantity)


def _use_host_ports(container: JsonObject) -> None:
    for port in container.get("ports") or ():
        if not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort", 0)


def _request_for_the_pod(spec: JsonObject) -> None:
    resources = spec["resources"]
    limits = resources.get("limits")
    if not limits:
        return
    requests = dict(resources.get("requests") or {})
    asked = container_amounts(spec, "requests")
    for name in _POD_LEVEL:
        if name in asked:
            requests.setdefault(name, str(asked[name]))
    for name in limits:
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            requests.setdefault(name, limits[name])
    if requests:
        resources["requests"] = requests
