"""What to do about it: from the reason that Kubernetes gives, and words in its message, to the way out.

Tables, read from above; the first row whose reason and words fit counts. A fix is a sentence for people; ``{logs}`` is
the command that shows what the container wrote, ``{previous}`` what its last run wrote.
"""

from typing import NamedTuple


class Fix(NamedTuple):
    reasons: tuple[str, ...]  # empty: any
    words: str  # in lower case, somewhere in the message; empty: any message
    fix: str


_SCHEDULING = ("Unschedulable", "FailedScheduling")
_IMAGE = ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ErrImageNotProvided")
_MOUNTING = ("FailedMount", "FailedAttachVolume", "FailedMapVolume")
_SANDBOX = ("FailedCreatePodSandBox", "CreatePodSandboxError")
_ENDED = ("CrashLoopBackOff", "Error", "StartError", "ContainerCannotRun", "RunContainerError", "CreateContainerError")

_NO_SPACE = "no space left"

POD_FIXES: tuple[Fix, ...] = (
    Fix(_SCHEDULING, "no nodes available", "there is no node yet: start one with heliostat up, or add one"),
    Fix(_SCHEDULING, "0/0 nodes", "there is no node yet: start one with heliostat up, or add one"),
    Fix(
        _SCHEDULING,
        "persistentvolumeclaim",
        "create the PersistentVolumeClaim, or name one that exists in spec.volumes",
    ),
    Fix(
        _SCHEDULING,
        "insufficient",
        "ask for less in resources.requests, stop other Pods, or add a node that has what is asked for",
    ),
    Fix(_SCHEDULING, "untolerated taint", "add a toleration for the taint to the Pod template, or remove the taint"),
    Fix(_SCHEDULING, "node affinity/selector", "correct nodeSelector or affinity, or label a node as they ask"),
    Fix(_SCHEDULING, "anti-affinity", "relax the Pod anti-affinity, or add a node"),
    Fix(_SCHEDULING, "free ports", "drop hostPort, or add a node where the port is free"),
    Fix(_SCHEDULING, "", "make room on a node, add one, or relax what the Pod asks for"),
    Fix(("NotScheduled",), "", "wait; if it stays so, start a scheduler: heliostat up or heliostat controllers"),
    Fix(("SchedulingGated",), "", "remove spec.schedulingGates: whoever set them has not released the Pod yet"),
    Fix(
        _IMAGE,
        "and this machine has no",
        "install what the message names, or give the image an entry in images.toml",
    ),
    Fix(
        _IMAGE,
        "images.toml",
        "add the lines that the message names to that images.toml, then heliostat down and heliostat up; or choose an"
        " image that has an entry",
    ),
    Fix(_IMAGE, _NO_SPACE, "free space on the disk of the cache directory; environments that nobody needs may go"),
    Fix(_IMAGE, "there is no uv", "pip install uv; or start without --exact-images, with the Ray that is installed"),
    Fix(_IMAGE, "finds no python", "install the Python that the tag asks for, or choose a tag for one that is there"),
    Fix(_IMAGE, "no solution found", "choose a tag whose version exists for this Python on this kind of machine"),
    Fix(_IMAGE, "uv: ", "fix what uv reports (an index that it reaches, a version that exists); it is retried"),
    Fix(
        _IMAGE,
        "",
        "correct the image name and tag; for a private registry add imagePullSecrets to the Pod template",
    ),
    Fix(("OOMKilled",), "", "raise resources.limits.memory, or let the program use less; {previous} shows its end"),
    Fix(
        _SANDBOX,
        "unshare(",
        "allow namespaces: run heliostat as root, and set sysctl user.max_pid_namespaces and those like it above 0",
    ),
    Fix(
        _SANDBOX,
        "is used by another pod",
        "delete the other Pod or choose other ports; for ports of its own a Pod needs sysctl user.max_user_namespaces"
        " above 0, or heliostat as root",
    ),
    Fix((*_SANDBOX, "CreateContainerError"), _NO_SPACE, "free space on the node's disk, where its state directory is"),
    Fix(_ENDED, _NO_SPACE, "free space on the disk; for an emptyDir in memory raise the volume's sizeLimit"),
    Fix(
        ("CreateContainerConfigError",),
        "hostpath type",
        "create the path on this machine, or give the hostPath the type DirectoryOrCreate",
    ),
    Fix(
        ("CreateContainerConfigError",),
        "cannot be shown",
        "take the volume out of the Pod; volumes need sysctl user.max_user_namespaces above 0, or heliostat as root",
    ),
    Fix(
        ("CreateContainerConfigError",),
        "persistentvolumeclaim",
        "create the PersistentVolumeClaim, or name one that is bound",
    ),
    Fix(("CreateContainerConfigError",), "cannot provide", "use emptyDir, hostPath or a claim for the volume"),
    Fix(("CreateContainerConfigError",), "configmap", "create the ConfigMap with this key, or correct its name"),
    Fix(("CreateContainerConfigError",), "secret", "create the Secret with this key, or correct its name"),
    Fix(("CreateContainerConfigError",), "", "correct env, envFrom or securityContext of the container"),
    Fix(_ENDED, "not found", "correct command and args: the program is not in the container's PATH"),
    Fix(_ENDED, "no such file", "correct command, args and workingDir: a file they name is not in the container"),
    Fix(_ENDED, "permission denied", "make the file executable, or run the container as a user who may run it"),
    Fix(_ENDED, "", "read why it ended: {previous}"),
    Fix(_MOUNTING, "configmap", "create the ConfigMap, or mark the volume optional"),
    Fix(_MOUNTING, "secret", "create the Secret, or mark the volume optional"),
    Fix(_MOUNTING, "", "correct the volume in the Pod template, or create what it names"),
    Fix(_SANDBOX, "", "look at the node: it cannot create the Pod's sandbox; it retries"),
    Fix(("Unhealthy",), "startup probe", "give it more time (startupProbe.failureThreshold), or read {logs}"),
    Fix(("Unhealthy",), "", "read {logs}; if it only needs longer, raise failureThreshold of the probe"),
    Fix(("Evicted",), "", "give the node more memory or disk, or set requests that cover what the Pod uses"),
    Fix(("NodeNotReady", "NodeLost", "TaintManagerEviction"), "", "bring the node back, or delete the Pod"),
    Fix(("DeadlineExceeded",), "", "raise activeDeadlineSeconds, or make the work shorter"),
    Fix(("Initializing",), "wait-gcs-ready", "nothing: it starts when the head does"),
    Fix(("Initializing",), "", "wait, or read {logs}"),
    Fix(("ContainersNotReady",), "", "wait for its readiness probe, or read {logs}"),
    Fix(("ContainerCreating", "PodInitializing", "Pending", "Pulling"), "", "wait: the node is working on it"),
    Fix(("Terminating",), "", "wait for its grace period; if its node is gone for good, delete the node"),
)

REFUSAL_FIXES: tuple[Fix, ...] = (
    Fix((), "exceeded quota", "raise the ResourceQuota of the namespace, or ask for less"),
    Fix((), "being terminated", "use another namespace: this one is being deleted"),
    Fix((), "is forbidden: user", "grant this permission in the operator's ClusterRole (RBAC)"),
    Fix((), "admission webhook", "satisfy the webhook that the message names, or ask its owner"),
    Fix((), "violates podsecurity", "make the Pod template comply with the namespace's Pod Security Standard"),
    Fix((), "already exists", "delete or rename the object that has this name"),
    Fix((), "", "correct what the message names; the operator retries with back-off"),
)


def find_fix(table: tuple[Fix, ...], reason: str, message: str) -> str:
    """Empty when no row fits."""
    text = message.lower()
    fits = (row.fix for row in table if (not row.reasons or reason in row.reasons) and row.words in text)
    return next(fits, "")
