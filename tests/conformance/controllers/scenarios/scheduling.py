"""The scheduler: where a Pod goes, and in which words it is told that it cannot go anywhere."""

from conformance.controllers.model import Change, Create, Json, Look, Pick, Remove, Scenario, Step, Until
from conformance.controllers.objects import node, pod

SCHEDULED = {"status.conditions.PodScheduled.status": "True"}
REFUSED = {"status.conditions.PodScheduled.status": "False"}
NODE, OTHER, THIRD = "{ns}-a", "{ns}-b", "{ns}-c"


def _pod(name: str = "one", *, cpu: str = "", extended: Json = None, metadata: Json = None, **spec: Json) -> Create:
    container: Json = {"name": "main", "image": "example.com/app:1"}
    requests = {**({"cpu": cpu} if cpu else {}), **(extended or {})}
    if requests:
        container["resources"] = {"requests": requests, "limits": dict(extended or {})}
    shape = {"schedulerName": "default-scheduler", "containers": [container], **spec}
    return Create(pod(name, labels={"app": name}, metadata=metadata, **shape))


def _nodes(*nodes: Json) -> tuple[Step, ...]:
    """Made, open to everybody, and known to the scheduler."""
    wait = Until(Pick(kind="Node", where={"spec.taints": None}), len([one for one in nodes if "spec" not in one]))
    tainted = Until(Pick(kind="Node", where={"spec.taints.1": None}), len(nodes))
    return (*(Create(one) for one in nodes), wait, tainted, Look("nodes", quiet_seconds=1.0))


def _scheduled(name: str = "one") -> Until:
    return Until(Pick(name=name, where=SCHEDULED))


def _refused(name: str = "one") -> Until:
    return Until(Pick(name=name, where=REFUSED))


def _scheduling(name: str, *steps: Step) -> Scenario:
    return Scenario(name=name, shows=("Pod", "Node"), is_alone=True, steps=steps)


def _cannot(name: str, nodes: tuple[Step, ...], *pods: Step) -> Scenario:
    return _scheduling(name, *nodes, *pods, _refused(), Look("end"))


def _anywhere_with(key: str, value: str) -> Json:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _near(kind: str, app: str) -> Json:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _priority(name: str, value: int, **more: Json) -> Create:
    return Create({"kind": "PriorityClass", "metadata": {"name": name}, "value": value, **more})


TAINT = {"key": "example.com/only", "value": "gpu", "effect": "NoSchedule"}
PREFER = {"key": "example.com/rather-not", "value": "x", "effect": "PreferNoSchedule"}
TOLERATION = {"key": "example.com/only", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
CLAIM: Json = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
HOST_PORT = [{"name": "main", "image": "example.com/app:1", "ports": [{"containerPort": 80, "hostPort": 8080}]}]

SCHEDULING = (
    _scheduling("sched-one-node", *_nodes(node(NODE)), _pod(), _scheduled(), Look("end")),
    _scheduling("sched-no-nodes", _pod(), _refused(), Look("end")),
    _cannot("sched-insufficient-cpu", _nodes(node(NODE, cpu="1")), _pod(cpu="2")),
    _cannot("sched-insufficient-everything", _nodes(node(NODE, cpu="1")), _pod(cpu="2", extended={"memory": "100Gi"})),
    _cannot(
        "sched-extended-resource",
        _nodes(node(NODE), node(OTHER, extended={"example.com/gpu": "1"})),
        _pod(extended={"example.com/gpu": "2"}),
    ),
    _scheduling(
        "sched-extended-resource-fits",
        *_nodes(node(NODE), node(OTHER, extended={"example.com/gpu": "1"})),
        _pod(extended={"example.com/gpu": "1"}),
        _scheduled(),
        Look("end"),
    ),
    _cannot("sched-taint", _nodes(node(NODE, taints=[TAINT])), _pod()),
    _scheduling(
        "sched-toleration",
        *_nodes(node(NODE, taints=[TAINT])),
        _pod(tolerations=[TOLERATION]),
        _scheduled(),
        Look("end"),
    ),
    _scheduling(
        "sched-taint-rather-not", *_nodes(node(NODE, taints=[PREFER]), node(OTHER)), _pod(), _scheduled(), Look("end")
    ),
    _cannot(
        "sched-node-selector",
        _nodes(node(NODE), node(OTHER, labels={"disk": "hdd"})),
        _pod(nodeSelector={"disk": "ssd"}),
    ),
    _cannot(
        "sched-node-affinity", _nodes(node(NODE, labels={"disk": "hdd"})), _pod(affinity=_anywhere_with("disk", "ssd"))
    ),
    _scheduling(
        "sched-node-affinity-fits",
        *_nodes(node(NODE), node(OTHER, labels={"disk": "ssd"})),
        _pod(affinity=_anywhere_with("disk", "ssd")),
        _scheduled(),
        Look("end"),
    ),
    _cannot(
        "sched-several-reasons",
        _nodes(node(NODE, cpu="1"), node(OTHER, taints=[TAINT]), node(THIRD, labels={"disk": "hdd"})),
        _pod(cpu="2", nodeSelector={"disk": "ssd"}),
    ),
    _cannot(
        "sched-each-its-own-reason",
        _nodes(
            node(NODE, cpu="1", labels={"disk": "ssd"}),
            node(OTHER, taints=[TAINT], labels={"disk": "ssd"}),
            node(THIRD, labels={"disk": "hdd"}),
        ),
        _pod(cpu="2", nodeSelector={"disk": "ssd"}),
    ),
    _scheduling(
        "sched-cordoned",
        *_nodes(node(NODE)),
        Change(Pick(kind="Node"), {"spec": {"unschedulable": True}}),
        Until(Pick(kind="Node", where={"spec.taints.0.key": "node.kubernetes.io/unschedulable"})),
        _pod(),
        _refused(),
        Look("end"),
    ),
    _scheduling(
        "sched-gates",
        *_nodes(node(NODE)),
        _pod(schedulingGates=[{"name": "example.com/wait"}, {"name": "example.com/too"}]),
        Look("gated"),
        Change(Pick(name="one"), {"spec": {"schedulingGates": []}}),
        _scheduled(),
        Look("end"),
    ),
    _scheduling(
        "sched-host-port",
        *_nodes(node(NODE)),
        _pod("first", containers=HOST_PORT),
        _scheduled("first"),
        _pod("one", containers=HOST_PORT),
        _refused(),
        Look("end"),
    ),
    _cannot("sched-too-many-pods", _nodes(node(NODE, pods="1")), _pod("first"), _scheduled("first"), _pod()),
    _cannot("sched-missing-claim", _nodes(node(NODE)), _pod(**CLAIM)),
    _cannot(
        "sched-unbound-claim",
        _nodes(node(NODE)),
        Create(
            {
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "",
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        ),
        _pod(**CLAIM),
    ),
    _scheduling(
        "sched-least-allocated",
        *_nodes(node(NODE, cpu="4"), node(OTHER, cpu="4")),
        _pod("first", cpu="2", nodeSelector={"kubernetes.io/hostname": NODE}),
        _scheduled("first"),
        _pod(cpu="1"),
        _scheduled(),
        Look("end"),
    ),
    _cannot("sched-affinity-to-nobody", _nodes(node(NODE)), _pod(affinity=_near("podAffinity", "friend"))),
    _cannot(
        "sched-anti-affinity",
        _nodes(node(NODE)),
        _pod("friend"),
        _scheduled("friend"),
        _pod(affinity=_near("podAntiAffinity", "friend")),
    ),
    _cannot(
        "sched-anti-affinity-of-another",
        _nodes(node(NODE)),
        _pod("friend", affinity=_near("podAntiAffinity", "one")),
        _scheduled("friend"),
        _pod(),
    ),
    _scheduling(
        "sched-spread",
        *_nodes(node(NODE, labels={"zone": "a"}), node(OTHER, labels={"zone": "b"}, cpu="1")),
        _pod(
            "first",
            nodeSelector={"zone": "a"},
            metadata={"labels": {"app": "one"}},
        ),
        _scheduled("first"),
        _pod(
            cpu="2",
            topologySpreadConstraints=[
                {
                    "maxSkew": 1,
                    "topologyKey": "zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "one"}},
                }
            ],
        ),
        _refused(),
        Look("end"),
    ),
    _scheduling(
        "sched-priority-order",
        *_nodes(node(NODE, cpu="1")),
        _priority("{ns}-high", 1000, preemptionPolicy="Never"),
        _pod("first", cpu="1"),
        _scheduled("first"),
        _pod("low", cpu="1"),
        _refused("low"),
        _pod("high", cpu="1", priorityClassName="{ns}-high"),
        _refused("high"),
        Look("waiting"),
        Remove(Pick(name="first"), grace_seconds=0),
        _scheduled("high"),
        Look("end"),
    ),
    _scheduling(
        "sched-preemption",
        *_nodes(node(NODE, cpu="1")),
        _priority("{ns}-high", 1000),
        _pod("victim", cpu="1"),
        _scheduled("victim"),
        _pod("high", cpu="1", priorityClassName="{ns}-high"),
        Until(Pick(name="victim", where={"metadata.deletionTimestamp": "*"})),
        Look("nominated"),
        Remove(Pick(name="victim"), grace_seconds=0),
        _scheduled("high"),
        Look("end"),
    ),
    _scheduling(
        "sched-room-appears",
        *_nodes(node(NODE, cpu="1")),
        _pod(cpu="2"),
        _refused(),
        Look("waiting"),
        Change(Pick(kind="Node"), {"status": {"allocatable": {"cpu": "4"}}}, "status"),
        _scheduled(),
        Look("end"),
    ),
    _scheduling(
        "sched-by-another",
        *_nodes(node(NODE)),
        _pod(schedulerName="somebody-else"),
        Look("end"),
    ),
)
