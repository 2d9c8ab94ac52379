"""The way in to the dashboard: an Ingress, or a Route on OpenShift (raycluster.md §4.2, §4.3)."""

from heliostat.api.markers import JsonObject
from heliostat.api.raycluster import IngressOptions
from heliostat.desired import labels
from heliostat.desired.names import ingress_name, route_name
from heliostat.desired.ports import DASHBOARD_PORT
from heliostat.desired.raycluster.context import BuildContext, build_owned
from heliostat.desired.raycluster.services import head_ports


def _labels(context: BuildContext) -> dict[str, str]:
    return {
        **labels.owned_labels(context.name),
        labels.IDENTIFIER: labels.identifier(context.name, labels.HEAD),
    }


def _dashboard_port(context: BuildContext) -> int:
    return head_ports(context).get("dashboard", DASHBOARD_PORT)


def build_ingress(context: BuildContext) -> JsonObject | None:
    if not context.spec.head_group_spec.enable_ingress or context.settings.openshift_route:
        return None
    options = context.spec.head_group_spec.ingress_options or IngressOptions()
    ingress = build_owned(context, "networking.k8s.io/v1", "Ingress", ingress_name(context.name), _labels(context))
    annotations = {key: value for key, value in context.annotations.items() if key != labels.INGRESS_CLASS}
    if annotations:
        ingress["metadata"]["annotations"] = annotations
    path = {
        "path": "/" if options.path is None else options.path,
        "pathType": options.path_type or "Prefix",
        "backend": {"service": {"name": context.head_service, "port": {"number": _dashboard_port(context)}}},
    }
    rule: JsonObject = {"http": {"paths": [path]}}
    if options.host:
        rule["host"] = options.host
    ingress["spec"] = {"rules": [rule]}
    if labels.INGRESS_CLASS in context.annotations:
        ingress["spec"]["ingressClassName"] = context.annotations[labels.INGRESS_CLASS]
    if options.tls:
        ingress["spec"]["tls"] = options.tls
    return ingress


def build_route(context: BuildContext) -> JsonObject | None:
    if not context.spec.head_group_spec.enable_ingress or not context.settings.openshift_route:
        return None
    name = route_name(context.name, context.namespace)
    route = build_owned(context, "route.openshift.io/v1", "Route", name, _labels(context))
    if context.annotations:
        route["metadata"]["annotations"] = dict(context.annotations)
    route["spec"] = {
        "to": {"kind": "Service", "name": context.head_service, "weight": 100},
        "port": {"targetPort": _dashboard_port(context)},
        "wildcardPolicy": "None",
    }
    return route
