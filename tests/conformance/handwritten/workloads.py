"""Deployments and their relatives, Jobs and CronJobs: defaults, refusals, what may change, scale."""

from conformance.model import Json, sequence
from conformance.objects import container, cronjob, job, pod_spec, template, workload
from conformance.requests import create, delete, get, json_patch, merge, update


def _scale(name: str, replicas: Json, **metadata: Json) -> Json:
    named = {"name": name, "namespace": "${ns}", **metadata}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": named, "spec": {"replicas": replicas}}


def _deployment(**spec: Json) -> Json:
    return workload("Deployment", "d", spec)


SEQUENCES = (
    sequence(
        "deployment-life",
        create("deployments", workload("Deployment", "a", labels={"tier": "web"})),
        get("deployments", "a"),
        merge("deployments", "a", {"spec": {"replicas": 3}}),
        merge("deployments", "a", {"metadata": {"labels": {"tier": "db"}}}),
        merge("deployments", "a", {"metadata": {"annotations": {"note": "x"}}}),
        merge("deployments", "a", {"spec": {"template": {"metadata": {"annotations": {"restarted": "now"}}}}}),
        merge("deployments", "a", {"spec": {"selector": {"matchLabels": {"app": "b"}}}}),
        merge("deployments", "a", {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}),
        update("deployments", "a", workload("Deployment", "a")),
        merge("deployments", "a", {"status": {"replicas": 3}}),
        merge("deployments", "a", {"status": {"replicas": 3, "observedGeneration": 2}}, "status"),
        merge("deployments", "a", {"status": {"replicas": -1}}, "status"),
        merge("deployments", "a", {"spec": {"replicas": 9}}, "status"),
        get("deployments", "a", "status"),
        delete("deployments", "a"),
    ),
    sequence(
        "deployment-refused",
        create("deployments", _deployment(selector={"matchLabels": {"other": "x"}})),
        create("deployments", _deployment(selector=None)),
        create("deployments", _deployment(selector={})),
        create("deployments", _deployment(replicas=-1)),
        create("deployments", _deployment(replicas="3")),
        create("deployments", _deployment(strategy={"type": "Odd"})),
        create(
            "deployments",
            _deployment(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}),
        ),
        create(
            "deployments", _deployment(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "200%"}})
        ),
        create("deployments", _deployment(strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}})),
        create("deployments", _deployment(template={"metadata": {"labels": {"app": "d"}}, "spec": {"containers": []}})),
        create("deployments", _deployment(template=template({"app": "d"}, restartPolicy="Never"))),
        create("deployments", _deployment(template=template({"bad key": "d"}))),
        create("deployments", _deployment(minReadySeconds=-1, revisionHistoryLimit=-1, progressDeadlineSeconds=-1)),
        create("deployments", _deployment(minReadySeconds=700)),
        create("deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {}}),
        create("deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}),
        create("deployments", _deployment(selector={"matchExpressions": [{"key": "app", "operator": "Odd"}]})),
        create(
            "deployments",
            _deployment(selector={"matchExpressions": [{"key": "app", "operator": "In", "values": ["d"]}]}),
        ),
    ),
    sequence(
        "scale",
        create("deployments", workload("Deployment", "a")),
        get("deployments", "a", "scale"),
        update("deployments", "a", _scale("a", 4), "scale"),
        update("deployments", "a", _scale("a", -1), "scale"),
        update("deployments", "a", _scale("a", 5, resourceVersion="1"), "scale"),
        update("deployments", "a", _scale("b", 5), "scale"),
        update("deployments", "a", {**_scale("a", 5), "kind": "Deployment", "apiVersion": "apps/v1"}, "scale"),
        merge("deployments", "a", {"spec": {"replicas": 6}}, "scale"),
        merge("deployments", "a", {"spec": {"replicas": "x"}}, "scale"),
        json_patch("deployments", "a", [{"op": "replace", "path": "/spec/replicas", "value": 0}], "scale"),
        get("deployments", "a"),
        get("deployments", "none", "scale"),
        merge("deployments", "none", {"spec": {"replicas": 1}}, "scale"),
        create("statefulsets", workload("StatefulSet", "a", {"serviceName": "a"})),
        get("statefulsets", "a", "scale"),
        merge("statefulsets", "a", {"spec": {"replicas": 2}}, "scale"),
        create("replicasets", workload("ReplicaSet", "a")),
        merge("replicasets", "a", {"spec": {"replicas": 2}}, "scale", query={"dryRun": "All"}),
        get("replicasets", "a", "scale"),
        get("daemonsets", "a", "scale"),
    ),
    sequence(
        "other-workloads",
        create("replicasets", workload("ReplicaSet", "a")),
        create("replicasets", workload("ReplicaSet", "b", {"replicas": -1})),
        merge("replicasets", "a", {"spec": {"selector": {"matchLabels": {"x": "y"}}}}),
        create("statefulsets", workload("StatefulSet", "a", {"serviceName": "a"})),
        create("statefulsets", workload("StatefulSet", "b", {"podManagementPolicy": "Odd"})),
        create(
            "statefulsets",
            workload(
                "StatefulSet",
                "b",
                {
                    "volumeClaimTemplates": [
                        {
                            "metadata": {"name": "data"},
                            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                        }
                    ]
                },
            ),
        ),
        merge("statefulsets", "a", {"spec": {"serviceName": "b"}}),
        merge("statefulsets", "a", {"spec": {"updateStrategy": {"type": "OnDelete"}}}),
        create("daemonsets", workload("DaemonSet", "a")),
        create("daemonsets", workload("DaemonSet", "b", {"updateStrategy": {"type": "Odd"}})),
        merge("daemonsets", "a", {"spec": {"template": {"spec": {"nodeSelector": {"x": "y"}}}}}),
        merge(
            "daemonsets",
            "a",
            {
                "status": {
                    "currentNumberScheduled": 1,
                    "numberMisscheduled": 0,
                    "desiredNumberScheduled": 1,
                    "numberReady": 1,
                }
            },
            "status",
        ),
    ),
    sequence(
        "job-life",
        create("jobs", job("a")),
        get("jobs", "a"),
        merge("jobs", "a", {"spec": {"parallelism": 3}}),
        merge("jobs", "a", {"spec": {"completions": 3}}),
        merge("jobs", "a", {"spec": {"suspend": True}}),
        merge("jobs", "a", {"spec": {"suspend": False}}),
        merge("jobs", "a", {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}),
        merge("jobs", "a", {"spec": {"backoffLimit": 1}}),
        merge("jobs", "a", {"spec": {"ttlSecondsAfterFinished": 5}}),
        merge("jobs", "a", {"status": {"active": 1, "startTime": "2024-01-01T00:00:00Z"}}, "status"),
        merge("jobs", "a", {"status": {"succeeded": 1, "active": None}}, "status"),
        merge("jobs", "a", {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}, "status"),
        delete("jobs", "a"),
        create("jobs", job("b", {"suspend": True})),
        merge("jobs", "b", {"spec": {"template": {"spec": {"nodeSelector": {"x": "y"}}}}}),
        create("jobs", job("c", {"completionMode": "Indexed", "completions": 2, "parallelism": 1})),
        delete("jobs", "c", {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}),
    ),
    sequence(
        "job-refused",
        create("jobs", job("a", {"template": {"spec": pod_spec()}})),
        create("jobs", job("a", {"template": {"spec": pod_spec(restartPolicy="Always")}})),
        create("jobs", job("a", {"parallelism": -1, "completions": -1, "backoffLimit": -1})),
        create("jobs", job("a", {"activeDeadlineSeconds": -1, "ttlSecondsAfterFinished": -1})),
        create("jobs", job("a", {"completionMode": "Indexed"})),
        create("jobs", job("a", {"completionMode": "Odd"})),
        create("jobs", job("a", {"selector": {"matchLabels": {"a": "b"}}})),
        create("jobs", job("a", {"manualSelector": True})),
        create("jobs", job("a", {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}})),
        create("jobs", {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {}}),
        create("jobs", job("a" * 64)),
        create("jobs", job("a", {"podReplacementPolicy": "Odd"})),
        create("jobs", job("a", {"template": {"spec": {"restartPolicy": "Never", "containers": [container("A")]}}})),
    ),
    sequence(
        "cronjob",
        create("cronjobs", cronjob("a")),
        create("cronjobs", cronjob("b", {"schedule": "odd"})),
        create("cronjobs", cronjob("b", {"schedule": ""})),
        create("cronjobs", cronjob("b", {"timeZone": "Nowhere/City"})),
        create("cronjobs", cronjob("b", {"concurrencyPolicy": "Odd", "startingDeadlineSeconds": -1})),
        create("cronjobs", cronjob("b" * 53)),
        merge("cronjobs", "a", {"spec": {"suspend": True}}),
        merge("cronjobs", "a", {"spec": {"successfulJobsHistoryLimit": -2}}),
        merge("cronjobs", "a", {"status": {"lastScheduleTime": "2024-01-01T00:00:00Z"}}, "status"),
        delete("cronjobs", "a"),
    ),
)
