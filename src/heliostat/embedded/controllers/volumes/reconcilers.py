"""The wiring of volumes: claims, volumes, local directories and protection, each a controller of its own."""

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from heliostat.embedded.controllers.views.pods import PODS, Pod
from heliostat.embedded.controllers.views.storage_classes import STORAGE_CLASSES, StorageClass
from heliostat.embedded.controllers.views.volume_claims import CLAIM, CLAIMS, Claim
from heliostat.embedded.controllers.views.volumes import VOLUME, VOLUMES, Volume
from heliostat.embedded.controllers.volumes.claims import ClaimView, plan_claim
from heliostat.embedded.controllers.volumes.directories import name_volume, plan_directory, plan_removal
from heliostat.embedded.controllers.volumes.marks import BIND_COMPLETED, class_of_claim, is_default
from heliostat.embedded.controllers.volumes.protection import (
    claims_of,
    plan_claim_protection,
    plan_volume_protection,
)
from heliostat.embedded.controllers.volumes.volumes import VolumeView, plan_volume
from heliostat.kube.objects import Key
from heliostat.kube.plan import Plan
from heliostat.runtime.cache import Cache, Index
from heliostat.runtime.caches import Caches
from heliostat.runtime.reconciler import Source, Subject, itself, subject_of


class _ClaimSubjects:
    def __init__(self, caches: Caches) -> None:
        self._claims = caches.of(CLAIMS)

    def subject(self, key: Key) -> Subject | None:
        found = self._claims.get(key)
        return subject_of(found, CLAIM.api_version, CLAIM.kind) if found is not None else None


class _VolumeSubjects:
    def __init__(self, caches: Caches) -> None:
        self._volumes = caches.of(VOLUMES)

    def subject(self, key: Key) -> Subject | None:
        found = self._volumes.get(key)
        return subject_of(found, VOLUME.api_version, VOLUME.kind) if found is not None else None


class ClaimReconciler(_ClaimSubjects):
    name = "persistentvolume-controller"

    def __init__(self, caches: Caches) -> None:
        super().__init__(caches)
        self._volumes = caches.of(VOLUMES)
        self._classes = caches.of(STORAGE_CLASSES)
        self._pods_of = index_pods_by_claim(caches.of(PODS))
        self._open = self._claims.add_index(_open_by_class)
        self._by_volume = self._claims.add_index(_by_volume)

    def sources(self) -> Sequence[Source]:
        return (
            Source(self._claims, itself),
            Source(self._volumes, self._claims_of_volume),
            Source(self._classes, self._claims_of_class),
        )

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  the reconcilers' common shape
        claim = self._claims.get(key)
        if claim is None:
            return Plan()
        view = ClaimView(
            claim=claim,
            volumes=lambda: list(self._volumes),
            find_volume=lambda name: self._volumes.get(Key("", name)),
            find_class=lambda name: self._classes.get(Key("", name)),
            default_class=self._default_class,
            unscheduled_pods=lambda: self._unscheduled_pods(key),
        )
        return plan_claim(view)

    def _default_class(self) -> StorageClass | None:
        """The newest, if several say that they are."""
        found = [item for item in self._classes if is_default(item)]
        found.sort(key=lambda item: item.metadata.name)
        return max(found, key=lambda item: item.metadata.creation_timestamp or "", default=None)

    def _unscheduled_pods(self, key: Key) -> Sequence[str]:
        pods = self._pods_of.at(str(key))
        return sorted(pod.metadata.name for pod in pods if not pod.spec.node_name and not pod.is_over)

    def _claims_of_volume(self, before: Volume | None, after: Volume | None) -> Iterable[Key]:
        """Those that have it, and if nobody has it those that might take it."""
        volume = after or before
        if volume is None:
            return ()
        refs = [item.spec.claim_ref for item in (before, after) if item is not None]
        keys = [ref.key for ref in refs if ref is not None]
        keys += [claim.metadata.key for claim in self._by_volume.at(volume.metadata.name)]
        if after is not None and after.status.phase == "Available" and after.spec.claim_ref is None:
            keys += [claim.metadata.key for claim in self._open.at(after.spec.storage_class_name)]
        return dict.fromkeys(keys)

    def _claims_of_class(self, _before: StorageClass | None, after: StorageClass | None) -> Iterable[Key]:
        if after is None:
            return ()
        names = [after.metadata.name, *([""] if is_default(after) else [])]
        return dict.fromkeys(claim.metadata.key for name in names for claim in self._open.at(name))


class VolumeReconciler(_VolumeSubjects):
    name = "persistentvolume-controller"

    def __init__(self, caches: Caches) -> None:
        super().__init__(caches)
        self._claims = caches.of(CLAIMS)
        self._by_claim = self._volumes.add_index(_by_claim)

    def sources(self) -> Sequence[Source]:
        return (Source(self._volumes, itself), Source(self._claims, self._volumes_of_claim))

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  the reconcilers' common shape
        volume = self._volumes.get(key)
        if volume is None:
            return Plan()
        ref = volume.spec.claim_ref
        return plan_volume(VolumeView(volume, self._claims.get(ref.key) if ref is not None else None))

    def _volumes_of_claim(self, before: Claim | None, after: Claim | None) -> Iterable[Key]:
        claim = after or before
        found = self._by_claim.at(str(claim.metadata.key)) if claim is not None else []
        return [volume.metadata.key for volume in found]


class DirectoryReconciler(_ClaimSubjects):
    name = "heliostat.dev/local-directory"

    def __init__(self, caches: Caches, root: PurePath) -> None:
        """``root`` is the directory below which those of the volumes are made."""
        super().__init__(caches)
        self._volumes = caches.of(VOLUMES)
        self._classes = caches.of(STORAGE_CLASSES)
        self._root = root

    def sources(self) -> Sequence[Source]:
        return (Source(self._claims, itself),)

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  the reconcilers' common shape
        claim = self._claims.get(key)
        if claim is None:
            return Plan()
        storage_class = self._classes.get(Key("", class_of_claim(claim)))
        return plan_directory(claim, storage_class, self._volumes.get(Key("", name_volume(claim))), self._root)


class DirectoryRemovalReconciler(_VolumeSubjects):
    name = "heliostat.dev/local-directory"

    def __init__(self, caches: Caches, root: PurePath) -> None:
        super().__init__(caches)
        self._root = root

    def sources(self) -> Sequence[Source]:
        return (Source(self._volumes, itself),)

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  the reconcilers' common shape
        volume = self._volumes.get(key)
        return plan_removal(volume, self._root) if volume is not None else Plan()


class ClaimProtectionReconciler(_ClaimSubjects):
    name = "persistentvolumeclaim-protection-controller"

    def __init__(self, caches: Caches) -> None:
        super().__init__(caches)
        self._pods = caches.of(PODS)
        self._pods_of = index_pods_by_claim(self._pods)

    def sources(self) -> Sequence[Source]:
        return (Source(self._claims, itself), Source(self._pods, _claims_of_pods))

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  the reconcilers' common shape
        claim = self._claims.get(key)
        return plan_claim_protection(claim, self._pods_of.at(str(key))) if claim is not None else Plan()


class VolumeProtectionReconciler(_VolumeSubjects):
    name = "persistentvolume-protection-controller"

    def sources(self) -> Sequence[Source]:
        return (Source(self._volumes, itself),)

    def plan(self, key: Key, now: float) -> Plan:  # noqa: ARG002  the reconcilers' common shape
        volume = self._volumes.get(key)
        return plan_volume_protection(volume) if volume is not None else Plan()


def index_pods_by_claim(pods: Cache[Pod]) -> Index[Pod]:
    """By the key of the claim, as text."""
    return pods.add_index(lambda pod: [str(Key(pod.metadata.namespace, name)) for name in claims_of(pod)])


def _claims_of_pods(before: Pod | None, after: Pod | None) -> Iterable[Key]:
    """A Pod that goes or is over may be the last that used them; one that comes uses them more."""
    if before is None or (after is not None and after.metadata.uid == before.metadata.uid and not _ends(before, after)):
        return ()
    return [Key(before.metadata.namespace, name) for name in claims_of(before)]


def _ends(before: Pod, after: Pod) -> bool:
    grace = (before.metadata.deletion_grace_period_seconds, after.metadata.deletion_grace_period_seconds)
    return grace[0] != grace[1] or before.metadata.is_terminating != after.metadata.is_terminating


def _open_by_class(claim: Claim) -> tuple[str, ...]:
    is_open = BIND_COMPLETED not in claim.metadata.annotations and not claim.spec.volume_name
    return (class_of_claim(claim),) if is_open else ()


def _by_volume(claim: Claim) -> tuple[str, ...]:
    return (claim.spec.volume_name,) if claim.spec.volume_name else ()


def _by_claim(volume: Volume) -> tuple[str, ...]:
    ref = volume.spec.claim_ref
    return (str(ref.key),) if ref is not None else ()
