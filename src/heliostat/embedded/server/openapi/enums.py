"""Which values Kubernetes documents for fields of its own kinds; ``kubectl explain`` shows them.

A server checks these by rules of its own, not by its schema, so they are kept apart from the schemas. ``items`` and
``additionalProperties`` behind a field mean its elements. Only OpenAPI v3 says them.
"""

from heliostat.kube.schema import JsonSchema

_PROTOCOLS = "SCTP|TCP|UDP"
_PULL_POLICIES = "Always|IfNotPresent|Never"
_ACCESS_MODES = "ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod"
_OPERATIONS = "*|CONNECT|CREATE|DELETE|UPDATE"
_SIGNAL_NAMES = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT RTMAX RTMIN SEGV STKFLT STOP"
    " SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ"
)
_SIGNALS = "|".join(
    sorted(
        [
            *(f"SIG{name}" for name in _SIGNAL_NAMES.split()),
            *(f"SIGRTMIN+{number}" for number in range(1, 16)),
            *(f"SIGRTMAX-{number}" for number in range(1, 15)),
        ]
    )
)

# By definition and field; values are separated by a bar.
CHOICES: dict[str, dict[str, str]] = {
    "admissionregistration.v1.MatchResources": {
        "matchPolicy": "Equivalent|Exact",
    },
    "admissionregistration.v1.MutatingWebhook": {
        "failurePolicy": "Fail|Ignore",
        "matchPolicy": "Equivalent|Exact",
        "sideEffects": "None|NoneOnDryRun|Some|Unknown",
    },
    "admissionregistration.v1.NamedRuleWithOperations": {
        "operations.items": _OPERATIONS,
    },
    "admissionregistration.v1.RuleWithOperations": {
        "operations.items": _OPERATIONS,
    },
    "admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec": {
        "validationActions.items": "Audit|Deny|Warn",
    },
    "admissionregistration.v1.ValidatingAdmissionPolicySpec": {
        "failurePolicy": "Fail|Ignore",
    },
    "admissionregistration.v1.ValidatingWebhook": {
        "failurePolicy": "Fail|Ignore",
        "matchPolicy": "Equivalent|Exact",
        "sideEffects": "None|NoneOnDryRun|Some|Unknown",
    },
    "apiextensions.v1.ValidationRule": {
        "reason": "FieldValueDuplicate|FieldValueForbidden|FieldValueInvalid|FieldValueRequired",
    },
    "apps.v1.DaemonSetUpdateStrategy": {
        "type": "OnDelete|RollingUpdate",
    },
    "apps.v1.DeploymentStrategy": {
        "type": "Recreate|RollingUpdate",
    },
    "apps.v1.StatefulSetSpec": {
        "podManagementPolicy": "OrderedReady|Parallel",
    },
    "apps.v1.StatefulSetUpdateStrategy": {
        "type": "OnDelete|RollingUpdate",
    },
    "batch.v1.CronJobSpec": {
        "concurrencyPolicy": "Allow|Forbid|Replace",
    },
    "batch.v1.JobSpec": {
        "completionMode": "Indexed|NonIndexed",
        "podReplacementPolicy": "Failed|TerminatingOrFailed",
    },
    "batch.v1.PodFailurePolicyOnExitCodesRequirement": {
        "operator": "In|NotIn",
    },
    "batch.v1.PodFailurePolicyRule": {
        "action": "Count|FailIndex|FailJob|Ignore",
    },
    "certificates.v1.CertificateSigningRequestSpec": {
        "usages.items": (
            "any|cert sign|client auth|code signing|content commitment|crl sign|data encipherment|decipher only|"
            "digital signature|email protection|encipher only|ipsec end system|ipsec tunnel|ipsec user|"
            "key agreement|key encipherment|microsoft sgc|netscape sgc|ocsp signing|s/mime|server auth|signing|"
            "timestamping"
        ),
    },
    "core.v1.AppArmorProfile": {
        "type": "Localhost|RuntimeDefault|Unconfined",
    },
    "core.v1.AzureDiskVolumeSource": {
        "cachingMode": "None|ReadOnly|ReadWrite",
        "kind": "Dedicated|Managed|Shared",
    },
    "core.v1.Container": {
        "imagePullPolicy": _PULL_POLICIES,
        "terminationMessagePolicy": "FallbackToLogsOnError|File",
    },
    "core.v1.ContainerPort": {
        "protocol": _PROTOCOLS,
    },
    "core.v1.ContainerStatus": {
        "stopSignal": _SIGNALS,
    },
    "core.v1.EndpointPort": {
        "protocol": _PROTOCOLS,
    },
    "core.v1.EphemeralContainer": {
        "imagePullPolicy": _PULL_POLICIES,
        "terminationMessagePolicy": "FallbackToLogsOnError|File",
    },
    "core.v1.HTTPGetAction": {
        "scheme": "HTTP|HTTPS",
    },
    "core.v1.HostPathVolumeSource": {
        "type": "|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket",
    },
    "core.v1.ImageVolumeSource": {
        "pullPolicy": _PULL_POLICIES,
    },
    "core.v1.Lifecycle": {
        "stopSignal": _SIGNALS,
    },
    "core.v1.ModifyVolumeStatus": {
        "status": "InProgress|Infeasible|Pending",
    },
    "core.v1.NamespaceStatus": {
        "phase": "Active|Terminating",
    },
    "core.v1.NodeSelectorRequirement": {
        "operator": "DoesNotExist|Exists|Gt|In|Lt|NotIn",
    },
    "core.v1.NodeStatus": {
        "phase": "Pending|Running|Terminated",
    },
    "core.v1.PersistentVolumeClaimSpec": {
        "accessModes.items": _ACCESS_MODES,
        "volumeMode": "Block|Filesystem",
    },
    "core.v1.PersistentVolumeClaimStatus": {
        "accessModes.items": _ACCESS_MODES,
        "allocatedResourceStatuses.additionalProperties": (
            "ControllerResizeInProgress|ControllerResizeInfeasible|NodeResizeInProgress|NodeResizeInfeasible|"
            "NodeResizePending"
        ),
        "phase": "Bound|Lost|Pending",
    },
    "core.v1.PersistentVolumeSpec": {
        "accessModes.items": _ACCESS_MODES,
        "persistentVolumeReclaimPolicy": "Delete|Recycle|Retain",
        "volumeMode": "Block|Filesystem",
    },
    "core.v1.PersistentVolumeStatus": {
        "phase": "Available|Bound|Failed|Pending|Released",
    },
    "core.v1.PodSecurityContext": {
        "fsGroupChangePolicy": "Always|OnRootMismatch",
        "supplementalGroupsPolicy": "Merge|Strict",
    },
    "core.v1.PodSpec": {
        "dnsPolicy": "ClusterFirst|ClusterFirstWithHostNet|Default|None",
        "preemptionPolicy": "Never|PreemptLowerPriority",
        "restartPolicy": "Always|Never|OnFailure",
    },
    "core.v1.PodStatus": {
        "phase": "Failed|Pending|Running|Succeeded|Unknown",
        "qosClass": "BestEffort|Burstable|Guaranteed",
    },
    "core.v1.PortStatus": {
        "protocol": _PROTOCOLS,
    },
    "core.v1.ResourceQuotaSpec": {
        "scopes.items": (
            "BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|"
            "VolumeAttributesClass"
        ),
    },
    "core.v1.ScopedResourceSelectorRequirement": {
        "operator": "DoesNotExist|Exists|In|NotIn",
        "scopeName": (
            "BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|"
            "VolumeAttributesClass"
        ),
    },
    "core.v1.SeccompProfile": {
        "type": "Localhost|RuntimeDefault|Unconfined",
    },
    "core.v1.SecurityContext": {
        "procMount": "Default|Unmasked",
    },
    "core.v1.ServicePort": {
        "protocol": _PROTOCOLS,
    },
    "core.v1.ServiceSpec": {
        "externalTrafficPolicy": "Cluster|Local",
        "internalTrafficPolicy": "Cluster|Local",
        "ipFamilies.items": "|IPv4|IPv6",
        "ipFamilyPolicy": "PreferDualStack|RequireDualStack|SingleStack",
        "sessionAffinity": "ClientIP|None",
        "type": "ClusterIP|ExternalName|LoadBalancer|NodePort",
    },
    "core.v1.Taint": {
        "effect": "NoExecute|NoSchedule|PreferNoSchedule",
    },
    "core.v1.Toleration": {
        "effect": "NoExecute|NoSchedule|PreferNoSchedule",
        "operator": "Equal|Exists",
    },
    "core.v1.TopologySpreadConstraint": {
        "nodeAffinityPolicy": "Honor|Ignore",
        "nodeTaintsPolicy": "Honor|Ignore",
        "whenUnsatisfiable": "DoNotSchedule|ScheduleAnyway",
    },
    "core.v1.VolumeMount": {
        "mountPropagation": "Bidirectional|HostToContainer|None",
    },
    "discovery.v1.EndpointPort": {
        "protocol": _PROTOCOLS,
    },
    "discovery.v1.EndpointSlice": {
        "addressType": "FQDN|IPv4|IPv6",
    },
    "networking.v1.HTTPIngressPath": {
        "pathType": "Exact|ImplementationSpecific|Prefix",
    },
    "networking.v1.IngressPortStatus": {
        "protocol": _PROTOCOLS,
    },
    "networking.v1.NetworkPolicyPort": {
        "protocol": _PROTOCOLS,
    },
    "networking.v1.NetworkPolicySpec": {
        "policyTypes.items": "Egress|Ingress",
    },
    "policy.v1.PodDisruptionBudgetSpec": {
        "unhealthyPodEvictionPolicy": "AlwaysAllow|IfHealthyBudget",
    },
    "resource.v1.DeviceTaint": {
        "effect": "NoExecute|NoSchedule",
    },
    "resource.v1.DeviceToleration": {
        "effect": "NoExecute|NoSchedule",
        "operator": "Equal|Exists",
    },
    "scheduling.v1.PriorityClass": {
        "preemptionPolicy": "Never|PreemptLowerPriority",
    },
    "storage.v1.StorageClass": {
        "reclaimPolicy": "Delete|Recycle|Retain",
        "volumeBindingMode": "Immediate|WaitForFirstConsumer",
    },
}


def add_choices(definition: str, schema: JsonSchema) -> None:
    """Write the documented values into a schema that the caller owns."""
    for field, values in CHOICES.get(definition, {}).items():
        name, _, element = field.partition(".")
        target = schema["properties"][name]
        if element:
            target = target[element]
        target["enum"] = values.split("|")
