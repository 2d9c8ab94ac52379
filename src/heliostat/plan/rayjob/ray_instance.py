"""Which Ray is it: what one has told says nothing of the next one.

A Ray is a container of a head Pod in one of its lives. Another Pod is another one, and so is a container that was
started again in the same Pod; neither has ever heard of a job that the one before ran, unless the GCS keeps its state
elsewhere. A submitter would give it the job once more, so the end of a Ray is read from its Pod, seconds before the
next one can be asked. Differs from KubeRay: rayjob-head-lost.
"""

from heliostat.api.cluster_features import is_gcs_ft_annotated
from heliostat.api.markers import JsonObject
from heliostat.kube.conditions import is_condition_true
from heliostat.kube.facts import Unknown
from heliostat.kube.pods import ContainerStatus, PodView
from heliostat.kube.timestamps import moment_of
from heliostat.plan.rayjob.observed import ObservedJob


def is_another_head(status: JsonObject, cluster: JsonObject | None) -> bool:
    """Of the same cluster, than the one whose word the status of a job holds; and it does not know what that knew."""
    told, now = (_head_of(each) for each in (status.get("rayClusterStatus"), (cluster or {}).get("status")))
    return bool(status.get("jobStatus") and told and now and told != now) and not _does_remember(cluster)


def find_ended_ray(observed: ObservedJob) -> str:
    """Words for it if the Ray that told of the job has ended, in its Pod or with its Pod; else nothing."""
    status, heads, cluster = observed.status, observed.heads(), observed.find_cluster()
    begun = moment_of((status.get("rayJobInfo") or {}).get("startTime"))
    if begun is None or isinstance(heads, Unknown) or not isinstance(cluster, dict) or _does_remember(cluster):
        return ""
    told, rays = _head_of(status.get("rayClusterStatus")), {head.name: _ray_in(head) for head in heads}
    if told in rays:
        has_ended = _is_any_after(begun, _turns(rays[told]))
        return f"Ray's container in head Pod {told} ended while it ran the job." if has_ended else ""
    successor = rays.get(_head_of(cluster.get("status")))
    if told and successor is not None and _is_any_after(begun, _starts(successor)):
        return f"Head Pod {told} was lost while it ran the job."
    return ""


def _ray_in(head: PodView) -> ContainerStatus | None:
    return next((each for each in head.container_statuses if each.name in head.container_names[:1]), None)


def _is_any_after(begun: float, moments: list[str | None]) -> bool:
    """Of a Ray that has the job, all are told by one clock, that of its node, in whole seconds: none is later."""
    return any(moment is not None and moment > begun for moment in map(moment_of, moments))


def _starts(ray: ContainerStatus) -> list[str | None]:
    return [ray.state.running.started_at] if ray.state.running is not None else []


def _turns(ray: ContainerStatus | None) -> list[str | None]:
    """When one of its lives ended, and when one began that was not the first."""
    if ray is None:
        return []
    ends = [state.terminated.finished_at for state in (ray.state, ray.last_state) if state.terminated is not None]
    return [*ends, *_starts(ray)] if ray.restart_count else ends


def name_who_is_asked(cluster: JsonObject | None) -> str:
    """Another text when another head is there, and when it has become ready: then what was known is asked for anew."""
    status = (cluster or {}).get("status") or {}
    return f"{_head_of(status)}/{'ready' if is_condition_true(status.get('conditions'), 'HeadPodReady') else 'away'}"


def _head_of(cluster_status: JsonObject | None) -> str:
    return str(((cluster_status or {}).get("head") or {}).get("podName") or "")


def _does_remember(cluster: JsonObject | None) -> bool:
    """What one head knew, the next one reads again."""
    if cluster is None:
        return False
    is_asked_for = cluster["spec"].get("gcsFaultToleranceOptions") is not None
    return is_asked_for or is_gcs_ft_annotated(cluster["metadata"].get("annotations"))
