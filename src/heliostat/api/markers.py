"""What a type annotation of the ray.io kinds says beyond the Python type.

The kinds are plain msgspec structs. A marker inside ``Annotated`` carries what only the CRD schema knows: an integer
format, a default that the API server fills in, a CEL rule, or that a field holds a core Kubernetes object, which is
carried as JSON and never taken apart by a struct. ``heliostat.api.schema_from_types`` reads them; nothing else does.
"""

from typing import Annotated, Any, TypeAlias

import msgspec

JsonObject: TypeAlias = dict[str, Any]


class Core(msgspec.Struct, frozen=True):
    """The field's schema is a core Kubernetes definition, such as ``core.v1.PodTemplateSpec``."""

    definition: str


class Schema(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Schema keywords to add to what the Python type already says."""

    format: str | msgspec.UnsetType = msgspec.UNSET
    nullable: bool | msgspec.UnsetType = msgspec.UNSET
    minimum: int | msgspec.UnsetType = msgspec.UNSET
    min_length: int | msgspec.UnsetType = msgspec.UNSET
    min_items: int | msgspec.UnsetType = msgspec.UNSET


class Default(msgspec.Struct, frozen=True):
    """The API server fills this in when the field is absent. The typed view keeps "absent" apart from it."""

    value: Any


class Required(msgspec.Struct, frozen=True):
    """Listed under ``required`` although the typed view tolerates its absence."""


class ListMap(msgspec.Struct, frozen=True):
    """``x-kubernetes-list-type: map`` with these keys."""

    keys: tuple[str, ...]


class ListType(msgspec.Struct, frozen=True):
    """``x-kubernetes-list-type``: ``atomic`` or ``set``."""

    kind: str


class Rule(msgspec.Struct, frozen=True):
    """One CEL rule (``x-kubernetes-validations``)."""

    rule: str
    message: str


Int32: TypeAlias = Annotated[int, Schema(format="int32")]
Int64: TypeAlias = Annotated[int, Schema(format="int64")]
Time: TypeAlias = Annotated[str, Schema(format="date-time")]
Quantity: TypeAlias = Annotated[int | float | str, Core("Quantity")]

PodTemplate: TypeAlias = Annotated[JsonObject, Core("core.v1.PodTemplateSpec")]
Service: TypeAlias = Annotated[JsonObject, Core("core.v1.Service")]
EnvVars: TypeAlias = Annotated[list[JsonObject], Core("core.v1.EnvVar")]
EnvFrom: TypeAlias = Annotated[list[JsonObject], Core("core.v1.EnvFromSource")]
EnvVarSource: TypeAlias = Annotated[JsonObject, Core("core.v1.EnvVarSource")]
VolumeMounts: TypeAlias = Annotated[list[JsonObject], Core("core.v1.VolumeMount")]
ResourceRequirements: TypeAlias = Annotated[JsonObject, Core("core.v1.ResourceRequirements")]
SecurityContext: TypeAlias = Annotated[JsonObject, Core("core.v1.SecurityContext")]
IngressTls: TypeAlias = Annotated[list[JsonObject], Core("networking.v1.IngressTLS")]
NetworkPolicyIngressRules: TypeAlias = Annotated[list[JsonObject], Core("networking.v1.NetworkPolicyIngressRule")]
NetworkPolicyEgressRules: TypeAlias = Annotated[list[JsonObject], Core("networking.v1.NetworkPolicyEgressRule")]
Conditions: TypeAlias = Annotated[list[JsonObject], Core("meta.v1.Condition"), ListMap(("type",))]
