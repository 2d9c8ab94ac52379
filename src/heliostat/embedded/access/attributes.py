"""What a request wants to do, as the authorizer sees it, and the words that turn it away.

Rules: a request is about a resource or about a path, never both; a list or watch over all namespaces has no namespace;
a subresource is named beside its resource. The sentences are kube-apiserver's.
"""

from msgspec import Struct

from heliostat.embedded.access.users import User
from heliostat.embedded.refusals import RefusedError, forbidden
from heliostat.kube.go_text import go_quote

HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})  # a name in an error must not become a page


class Attributes(Struct, frozen=True, gc=False):
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None  # of a request that is not about a resource, such as /version

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def build_forbidden(user: User, attributes: Attributes, reason: str = "") -> RefusedError:
    """403 for a request that no rule allows; ``reason`` is the decision's, often empty."""
    why = _describe_denial(user, attributes).translate(HTML)
    if reason:
        why = f"{why}: {reason}"
    return forbidden(attributes.resource, attributes.group, attributes.name, why)


def _describe_denial(user: User, attributes: Attributes) -> str:
    who = f"User {go_quote(user.name)} cannot {attributes.verb}"
    if attributes.path is not None:
        return f"{who} path {go_quote(attributes.path)}"
    what = f"{who} resource {go_quote(attributes.full_resource)} in API group {go_quote(attributes.group)}"
    if attributes.namespace:
        return f"{what} in the namespace {go_quote(attributes.namespace)}"
    return f"{what} at the cluster scope"
