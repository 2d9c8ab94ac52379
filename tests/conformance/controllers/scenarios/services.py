"""Services: which Pods stand behind them, in EndpointSlices and in the older Endpoints."""

from conformance.controllers.model import Change, Create, Look, Pick, Remove, Scenario, Step, Until
from conformance.controllers.objects import LAST, LATER, SHARED_NODE, SUCCEEDED, pod, running, service

APP = {"app": "web"}
SHOWS = ("Service", "EndpointSlice", "Endpoints", "Pod")
SLICE = Until(Pick(kind="EndpointSlice", at_most=1))
NAMED = [{"name": "main", "image": "example.com/app:1", "ports": [{"name": "http", "containerPort": 8080}]}]
NAMED_ELSEWHERE = [{"name": "main", "image": "example.com/app:1", "ports": [{"name": "http", "containerPort": 9090}]}]


def _pod(name: str, address: str, *, is_ready: bool = True, **more: object) -> Create:
    place = {"nodeName": SHARED_NODE, **more}
    return Create(pod(name, labels=APP, status=running(address, is_ready=is_ready), **place))


def _served(name: str, *steps: Step) -> Scenario:
    return Scenario(name=name, shows=SHOWS, steps=steps)


SERVICES = (
    _served(
        "svc-ready-pods",
        _pod("one", "10.1.0.1"),
        _pod("two", "10.1.0.2"),
        Create(service("web", selector=APP)),
        SLICE,
        Look("end"),
    ),
    _served(
        "svc-ready-and-not",
        _pod("one", "10.1.0.1"),
        _pod("two", "10.1.0.2", is_ready=False),
        Create(service("web", selector=APP)),
        SLICE,
        Look("one ready"),
        Change(Pick(name="two"), {"status": running("10.1.0.2", since=LATER)}, "status"),
        Look("both ready"),
        Change(Pick(name="one"), {"status": running("10.1.0.1", is_ready=False, since=LAST)}, "status"),
        Look("the other ready"),
    ),
    _served("svc-nobody", Create(service("web", selector=APP)), SLICE, Look("end")),
    _served(
        "svc-headless",
        _pod("one", "10.1.0.1", hostname="one", subdomain="web"),
        _pod("two", "10.1.0.2"),
        Create(service("web", selector=APP, clusterIP="None")),
        SLICE,
        Look("end"),
    ),
    _served(
        "svc-headless-without-ports",
        _pod("one", "10.1.0.1"),
        Create({"kind": "Service", "metadata": {"name": "web"}, "spec": {"clusterIP": "None", "selector": APP}}),
        SLICE,
        Look("end"),
    ),
    _served(
        "svc-publishes-not-ready",
        _pod("one", "10.1.0.1", is_ready=False),
        Create(service("web", selector=APP, publishNotReadyAddresses=True)),
        SLICE,
        Look("end"),
    ),
    _served(
        "svc-named-ports",
        _pod("one", "10.1.0.1", containers=NAMED),
        _pod("two", "10.1.0.2", containers=NAMED_ELSEWHERE),
        _pod("without", "10.1.0.3"),
        Create(service("web", selector=APP, ports=[{"name": "web", "port": 80, "targetPort": "http"}])),
        SLICE,
        Look("end"),
    ),
    _served(
        "svc-several-ports",
        _pod("one", "10.1.0.1"),
        Create(
            service(
                "web",
                selector=APP,
                ports=[
                    {"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "http"},
                    {"name": "dns", "port": 53, "protocol": "UDP"},
                ],
            )
        ),
        SLICE,
        Look("end"),
    ),
    _served("svc-without-selector", Create(service("web")), Look("end")),
    _served(
        "svc-external-name",
        Create(
            {
                "kind": "Service",
                "metadata": {"name": "web"},
                "spec": {"type": "ExternalName", "externalName": "example.com"},
            }
        ),
        Look("end"),
    ),
    _served(
        "svc-pod-terminating",
        _pod("one", "10.1.0.1"),
        Create(service("web", selector=APP)),
        SLICE,
        Look("before"),
        Remove(Pick(name="one")),
        Look("terminating"),
        Remove(Pick(name="one"), grace_seconds=0),
        Until(Pick(), 0),
        Look("end"),
    ),
    _served(
        "svc-pod-finished",
        _pod("one", "10.1.0.1"),
        Create(service("web", selector=APP)),
        SLICE,
        Look("before"),
        Change(Pick(name="one"), {"status": SUCCEEDED}, "status"),
        Look("end"),
    ),
    _served(
        "svc-pod-without-address",
        Create(pod("one", labels=APP)),
        Create(service("web", selector=APP)),
        SLICE,
        Look("end"),
    ),
    _served(
        "svc-pod-on-no-node",
        _pod("one", "10.1.0.1"),
        _pod("nowhere", "10.1.0.2", nodeName=""),
        Create(service("web", selector=APP)),
        SLICE,
        Look("end"),
    ),
    _served(
        "svc-labels-change",
        _pod("one", "10.1.0.1"),
        Create(service("web", selector=APP)),
        SLICE,
        Change(
            Pick(kind="Service"), {"metadata": {"labels": {"team": "a"}, "annotations": {"example.com/why": "test"}}}
        ),
        Look("labelled"),
        Change(Pick(kind="Service"), {"spec": {"ports": [{"port": 81, "protocol": "TCP", "targetPort": 81}]}}),
        Look("another port"),
        Change(Pick(kind="Service"), {"spec": {"selector": {"app": "other"}}}),
        Look("nobody"),
    ),
    _served(
        "svc-deleted",
        _pod("one", "10.1.0.1"),
        Create(service("web", selector=APP)),
        SLICE,
        Look("before"),
        Remove(Pick(kind="Service", name="web")),
        Until(Pick(kind="EndpointSlice"), 0),
        Until(Pick(kind="Endpoints"), 0),
        Look("end"),
    ),
    _served(
        "svc-slice-removed-by-hand",
        _pod("one", "10.1.0.1"),
        Create(service("web", selector=APP)),
        SLICE,
        Look("before"),
        Remove(Pick(kind="EndpointSlice")),
        Remove(Pick(kind="Endpoints")),
        Look("end"),
    ),
)
