"""Ingresses: hosts, paths and backends that traffic can come by."""

from collections.abc import Iterator

from heliostat.embedded.kinds.rules.address_rules import read_ip
from heliostat.embedded.kinds.rules.causes import each_invalid, invalid, not_supported, required
from heliostat.embedded.kinds.rules.name_rules import dns1035_label_problems, dns1123_subdomain_problems
from heliostat.embedded.kinds.rules.text_rules import host_problems, port_name_problems, port_number_problems
from heliostat.embedded.refusals import Cause
from heliostat.kube.jsontree import JsonObject

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_CLASS = "kubernetes.io/ingress.class"


def new_ingress_causes(tree: JsonObject) -> Iterator[Cause]:
    yield from ingress_causes(tree)
    annotation = (tree["metadata"].get("annotations") or {}).get(_CLASS)
    name = (tree.get("spec") or {}).get("ingressClassName")
    if annotation is not None and name is not None and annotation != name:
        why = "must match `ingressClassName` when both are specified"
        yield invalid(f"annotations.{_CLASS}", annotation, why)


def ingress_causes(tree: JsonObject) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and backend is None:
        yield invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        yield from _backend_causes(backend, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        yield from _ingress_rule_causes(rule, f"spec.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or ()):
        for position, host in enumerate(tls.get("hosts") or ()):
            yield from each_invalid(f"spec.tls[{index}].hosts[{position}]", host, host_problems(host))
        secret = tls.get("secretName", "")
        if secret:
            yield from each_invalid(f"spec.tls[{index}].secretName", secret, dns1123_subdomain_problems(secret))
    name = spec.get("ingressClassName")
    if name is not None:
        yield from each_invalid("spec.ingressClassName", name, dns1123_subdomain_problems(name))


def _ingress_rule_causes(rule: JsonObject, path: str) -> Iterator[Cause]:
    host = rule.get("host", "")
    if host:
        if read_ip(host) is not None:
            yield invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        yield from each_invalid(f"{path}.host", host, host_problems(host))
    if "http" not in rule:
        return
    paths = rule["http"].get("paths") or []
    if not paths:
        yield required(f"{path}.http.paths")
    for index, entry in enumerate(paths):
        yield from _ingress_path_causes(entry, f"{path}.http.paths[{index}]")


def _ingress_path_causes(entry: JsonObject, path: str) -> Iterator[Cause]:
    kind, text = entry.get("pathType"), entry.get("path", "")
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
        return
    if kind in ("Exact", "Prefix"):
        if not text.startswith("/"):
            yield invalid(f"{path}.path", text, "must be an absolute path")
        for sequence in _BAD_SEQUENCES:
            if sequence in text:
                yield invalid(f"{path}.path", text, f"must not contain '{sequence}'")
        for end in _BAD_ENDS:
            if text.endswith(end):
                yield invalid(f"{path}.path", text, f"cannot end with '{end}'")
    elif kind == "ImplementationSpecific":
        if text and not text.startswith("/"):
            yield invalid(f"{path}.path", text, "must be an absolute path")
    else:
        yield not_supported(f"{path}.pathType", kind, _PATH_TYPES)
    yield from _backend_causes(entry.get("backend") or {}, f"{path}.backend")


def _backend_causes(backend: JsonObject, path: str) -> Iterator[Cause]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        for name in ("kind", "name"):
            if not resource.get(name):
                yield required(f"{path}.resource.{name}")
    elif service is not None:
        yield from _service_backend_causes(service, path)
    else:
        yield invalid(path, "", "resource or service backend is required")


def _service_backend_causes(service: JsonObject, path: str) -> Iterator[Cause]:
    name, port = service.get("name", ""), service.get("port") or {}
    if not name:
        yield required(f"{path}.service.name")
    else:
        yield from each_invalid(f"{path}.service.name", name, dns1035_label_problems(name))
    if port.get("name") and port.get("number"):
        yield invalid(path, "", "cannot set both port name & port number")
    elif port.get("name"):
        yield from each_invalid(f"{path}.service.port.name", port["name"], port_name_problems(port["name"]))
    elif port.get("number"):
        yield from each_invalid(f"{path}.service.port.number", port["number"], port_number_problems(port["number"]))
    else:
        yield required(path, "port name or number is required")


def ingress_class_causes(tree: JsonObject) -> Iterator[Cause]:
    controller = (tree.get("spec") or {}).get("controller", "")
    domain, slash, rest = controller.partition("/")
    if not controller:
        yield required("spec.controller")
    elif not (domain and slash and rest):
        yield invalid("spec.controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from each_invalid("spec.controller", domain, dns1123_subdomain_problems(domain))
