"""What a method on a path asks for, as the authorizer sees it, and whether the server has such a route at all.

Rules, kube-apiserver's: a path with a name is never a list or a watch, whatever its query says; a list or a watch of
one name (``fieldSelector=metadata.name=x``) counts as that name, so a role limited to names covers it; a namespace is
also inside itself; what a subresource does not offer is not answered by the object behind it. Rights are asked about
first: ``check_route`` only meets what the user may do.
"""

from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.kinds.rules.text_rules import path_segment_problems
from heliostat.embedded.refusals import bad_request
from heliostat.embedded.server.describing.discovery import describe_subresource
from heliostat.embedded.server.errors import method_not_allowed, no_such_path, not_found
from heliostat.embedded.server.messages import Request
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.server.targets import Target
from heliostat.kube.field_selectors import parse_field_selector
from heliostat.kube.go_text import go_quote
from heliostat.kube.selectors import SelectorError

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_ACROSS_NAMESPACES = ("list", "watch")
_ON_ONE_OBJECT = ("get", "update", "patch", "delete")


def verb_of(request: Request, target: Target) -> str:
    """Empty for a method that means nothing to a resource."""
    verb = _VERBS.get(request.method, "")
    if target.is_watch and verb == "get":
        return "watch"
    if not target.name and verb == "get":
        return "watch" if request.flag("watch") else "list"
    if not target.name and verb == "delete":
        return "deletecollection"
    return verb


def build_attributes(request: Request, target: Target, verb: str) -> Attributes:
    name = target.name
    if not name and verb in _ACROSS_NAMESPACES and "fieldSelector" in request.query:
        name = _selected_name(request.parameter("fieldSelector"))
    is_namespace = target.plural == "namespaces" and not target.namespace
    return Attributes(
        verb=verb,
        group=target.group,
        resource=target.plural,
        subresource=target.subresource,
        namespace=target.name if is_namespace else target.namespace,
        name=name,
    )


def check_route(request: Request, resource: Resource, target: Target, verb: str) -> None:
    """Refuses what leads nowhere (404), what is no name (400) and what is not offered there (405)."""
    if target.is_complete and target.subresource and resource.is_custom:
        _check_custom_subresource(resource, target, verb)
    if not target.is_complete or (target.subresource and target.subresource not in resource.subresources):
        raise no_such_path()
    if target.namespace and not resource.is_namespaced:  # CVE-2019-11247: not through another scope
        raise no_such_path()
    is_without_namespace = resource.is_namespaced and not target.namespace
    if is_without_namespace and target.name:
        raise no_such_path()
    if resource.is_custom and verb in ("update", "patch") and not target.name:
        raise bad_request("name must be provided")
    if not _is_offered(request, resource, target, verb) or (is_without_namespace and verb not in _ACROSS_NAMESPACES):
        raise method_not_allowed()
    problems = path_segment_problems(target.name)
    if problems:
        raise bad_request(f"Name parameter invalid: {go_quote(target.name)}: {problems[0]}")


def _check_custom_subresource(resource: Resource, target: Target, verb: str) -> None:
    """One that a definition does not ask for is like an object that is not there."""
    if target.subresource not in resource.subresources:
        raise not_found(resource.plural, resource.group, target.name)
    if verb not in describe_subresource(resource, target.subresource).verbs:
        refused = method_not_allowed()
        refused.message = f'{verb} is not supported on resources of kind "{resource.qualified}"'
        refused.details = {"group": resource.group, "kind": resource.plural}
        raise refused


def _is_offered(request: Request, resource: Resource, target: Target, verb: str) -> bool:
    if request.method == "HEAD" and target.subresource != "proxy":
        return False
    if target.subresource:
        return verb in describe_subresource(resource, target.subresource).verbs
    if target.is_watch:
        return verb == "watch" and "watch" in resource.verbs
    if resource.is_custom and verb == "create":
        return True
    return bool(target.name) is (verb in _ON_ONE_OBJECT) and verb in resource.verbs


def _selected_name(text: str) -> str:
    """The one name that a field selector leaves; empty when it leaves more, or is wrong, which is told later."""
    try:
        terms = parse_field_selector(text).terms
    except SelectorError:
        return ""
    names = [term.value for term in terms if term.field == "metadata.name" and term.is_equal]
    return names[0] if names and not path_segment_problems(names[0]) else ""
