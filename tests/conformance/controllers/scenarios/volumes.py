"""Claims and volumes: what binds to what, why a claim waits, what happens to a volume afterwards, protection in use."""

from conformance.controllers.model import Change, Create, Json, Look, Pick, Remove, Scenario, Until
from conformance.controllers.objects import pod, running

CLAIM = Pick(kind="PersistentVolumeClaim", name="data")
BOUND = Until(Pick(kind="PersistentVolumeClaim", name="data", where={"status.phase": "Bound"}))
SHOWS = ("PersistentVolumeClaim", "PersistentVolume", "Pod")


def _claim(name: str = "data", size: str = "1Gi", **spec: Json) -> Create:
    shape = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return Create({"kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": shape})


def _volume(name: str = "{ns}-a", size: str = "1Gi", labels: Json = None, **spec: Json) -> Create:
    shape = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        "hostPath": {"path": "/var/empty"},
        "storageClassName": "{ns}",
        **spec,
    }
    return Create({"kind": "PersistentVolume", "metadata": {"name": name, "labels": labels or {}}, "spec": shape})


def _class(**more: Json) -> Create:
    tree = {"kind": "StorageClass", "metadata": {"name": "{ns}"}, "provisioner": "kubernetes.io/no-provisioner"}
    return Create({**tree, **more})


def _volumes(name: str, *steps: object) -> Scenario:
    return Scenario(name=name, shows=SHOWS, steps=steps)  # type: ignore[arg-type]


USING = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}

VOLUMES = (
    _volumes("pvc-no-class-no-volume", _claim(storageClassName=""), Look("end")),
    _volumes("pvc-unknown-class", _claim(storageClassName="{ns}-none"), Look("end")),
    _volumes(
        "pvc-waits-for-a-consumer",
        _class(volumeBindingMode="WaitForFirstConsumer"),
        Look("before"),
        _claim(storageClassName="{ns}"),
        Look("end"),
    ),
    _volumes(
        "pvc-external-provisioner",
        _class(provisioner="example.com/disk"),
        Look("before"),
        _claim(storageClassName="{ns}"),
        Look("end"),
    ),
    _volumes("pvc-binds", _volume(), Look("available"), _claim(storageClassName="{ns}"), BOUND, Look("bound")),
    _volumes(
        "pvc-takes-the-smallest-that-fits",
        _volume("{ns}-small", "1Gi"),
        _volume("{ns}-large", "10Gi"),
        _volume("{ns}-middle", "5Gi"),
        Look("before"),
        _claim(size="2Gi", storageClassName="{ns}"),
        BOUND,
        Look("bound"),
    ),
    _volumes(
        "pvc-too-small-or-other-modes",
        _volume("{ns}-small", "1Gi"),
        _volume("{ns}-mode", "5Gi", accessModes=["ReadOnlyMany"]),
        _volume("{ns}-block", "5Gi", volumeMode="Block"),
        _class(),
        Look("before"),
        _claim(size="2Gi", storageClassName="{ns}"),
        Look("waiting"),
        _volume("{ns}-fits", "2Gi"),
        Until(Pick(kind="PersistentVolumeClaim", name="data", where={"status.phase": "Bound"}), seconds=90),
        Look("bound"),
    ),
    _volumes(
        "pvc-by-labels",
        _volume("{ns}-plain"),
        _volume("{ns}-fast", labels={"speed": "fast"}),
        Look("before"),
        _claim(storageClassName="{ns}", selector={"matchLabels": {"speed": "fast"}}),
        BOUND,
        Look("bound"),
    ),
    _volumes(
        "pvc-by-name",
        _volume("{ns}-a"),
        _volume("{ns}-b"),
        Look("before"),
        _claim(storageClassName="{ns}", volumeName="{ns}-b"),
        BOUND,
        Look("bound"),
    ),
    _volumes("pvc-by-name-that-is-not-there", _claim(storageClassName="{ns}", volumeName="{ns}-none"), Look("end")),
    _volumes(
        "pv-kept-for-a-claim",
        _class(),
        _volume("{ns}-a", claimRef={"kind": "PersistentVolumeClaim", "namespace": "{ns}", "name": "data"}),
        Look("kept"),
        _claim("other", storageClassName="{ns}"),
        Look("waiting"),
        _claim(storageClassName="{ns}"),
        BOUND,
        Look("bound"),
    ),
    _volumes(
        "pv-released",
        _volume(),
        _claim(storageClassName="{ns}"),
        BOUND,
        Look("bound"),
        Remove(CLAIM),
        Until(Pick(kind="PersistentVolume", where={"status.phase": "Released"})),
        Look("released"),
    ),
    _volumes(
        "pvc-protected-while-in-use",
        _volume(),
        _claim(storageClassName="{ns}"),
        BOUND,
        Create(pod("user", status=running(), **USING)),
        Look("used"),
        Remove(CLAIM),
        Look("waiting"),
        Remove(Pick(name="user")),
        Until(CLAIM, 0),
        Look("end"),
    ),
    _volumes(
        "pv-protected-while-bound",
        _volume(),
        _claim(storageClassName="{ns}"),
        BOUND,
        Remove(Pick(kind="PersistentVolume")),
        Look("waiting"),
        Remove(CLAIM),
        Until(Pick(kind="PersistentVolume"), 0),
        Look("end"),
    ),
    _volumes(
        "pvc-lost",
        _volume(),
        _claim(storageClassName="{ns}"),
        BOUND,
        Change(Pick(kind="PersistentVolume"), {"metadata": {"finalizers": None}}),
        Remove(Pick(kind="PersistentVolume")),
        Change(Pick(kind="PersistentVolume"), {"metadata": {"finalizers": None}}),
        Until(Pick(kind="PersistentVolumeClaim", where={"status.phase": "Lost"})),
        Look("lost"),
    ),
)
