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
    """Words for it if the Ray that told of the job has ended in a Pod that is still there; else nothing."""
    status, heads, cluster = observed.status, observed.heads(), observed.find_cluster()
    begun = moment_of((status.get("rayJobInfo") or {}).get("startTime"))
    if begun is None or isinstance(heads, Unknown) or not isinstance(cluster, dict) or _does_remember(cluster):
        return ""
    told = _head_of(status.get("rayClusterStatus"))
    if not any(_has_ended_since(begun, head) for head in heads if head.name == told):
        return ""
    return f"Ray's container in head Pod {told} ended while it ran the job."


def _has_ended_since(begun: float, head: PodView) -> bool:
    """Both times are told by the clock of the head's node, in whole seconds."""
    ray = next((each for each in head.container_statuses if each.name in head.container_names[:1]), None)
    return ray is not None and any(moment is not None and moment > begun for moment in map(moment_of, _turns(ray)))


def _turns(ray: ContainerStatus) -> list[str | None]:
    """When one of its lives ended, and when one began that was not the first."""
    ends = [state.terminated.finished_at for state in (ray.state, ray.last_state) if state.terminated is not None]
    return [*ends, ray.state.running.started_at] if ray.state.running is not None and ray.restart_count else ends


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
