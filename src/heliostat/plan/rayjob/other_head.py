"""Is the head that answers now another one than the head that told of the job?

A head that was made after the job has never heard of it, so its denial counts at once; and until it is asked, the
status goes on to name the head whose word it holds. Differs from KubeRay: rayjob-head-lost.
"""

from heliostat.api.markers import JsonObject
from heliostat.kube.conditions import is_condition_true


def is_another_head(status: JsonObject, cluster: JsonObject | None) -> bool:
    """Of the same cluster, than the one whose word the status of a job holds."""
    told, now = (_head_of(each) for each in (status.get("rayClusterStatus"), (cluster or {}).get("status")))
    return bool(status.get("jobStatus") and told and now and told != now)


def name_who_is_asked(cluster: JsonObject | None) -> str:
    """Another text when another head is there, and when it has become ready: then what was known is asked for anew."""
    status = (cluster or {}).get("status") or {}
    return f"{_head_of(status)}/{'ready' if is_condition_true(status.get('conditions'), 'HeadPodReady') else 'away'}"


def _head_of(cluster_status: JsonObject | None) -> str:
    return str(((cluster_status or {}).get("head") or {}).get("podName") or "")
