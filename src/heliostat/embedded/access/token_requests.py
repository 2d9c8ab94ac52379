"""TokenRequest: a ServiceAccount's token, made to order.

Rules: at least ten minutes, at most 2^32 seconds, an hour when not said; for this server when no audience is said;
bound to a Pod (of this ServiceAccount), Secret or Node when asked, and then only to the object of that uid. The answer
is the request with its blanks filled in and the token. Pure: objects are looked up, and the token is signed, by what is
handed in. Differs from kube-apiserver: a Pod's token lives as long as asked and is not quietly extended to a year.
"""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from heliostat.embedded.access.service_account_tokens import ISSUER, BoundTo, Claims, Reference, build_claims
from heliostat.embedded.refusals import (
    Cause,
    bad_request,
    conflict,
    invalid,
    invalid_value,
    not_found,
)
from heliostat.kube.go_text import go_quote
from heliostat.kube.hidden import Hidden
from heliostat.kube.jsontree import JsonObject, copy_tree
from heliostat.kube.timestamps import format_timestamp

GROUP = "authentication.k8s.io"
DEFAULT_SECONDS = 3600
SHORTEST = 600
LONGEST = 2**32
_RESOURCES = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}

# Resource, namespace (empty for nodes), name; None when there is no such object.
FindObject: TypeAlias = Callable[[str, str, str], JsonObject | None]


class Issuer(Struct, frozen=True):
    """What the server lends to the making of tokens."""

    sign: Callable[[Claims], Hidden]
    new_uid: Callable[[], str]
    audiences: tuple[str, ...] = (ISSUER,)
    name: str = ISSUER


def answer_token_request(
    request: JsonObject, namespace: str, name: str, find: FindObject, issuer: Issuer, now: float
) -> JsonObject:
    """The TokenRequest with its token, for the ServiceAccount the URL names; raises RefusedError."""
    account = _find_account(request, namespace, name, find)
    answer = _fill_in(request, account, issuer.audiences, now)
    spec = answer["spec"]
    if causes := _check_seconds(spec["expirationSeconds"]):
        raise invalid("TokenRequest", GROUP, "", causes)
    bound = _bind(spec.get("boundObjectRef"), account, find)
    claims = build_claims(
        bound, tuple(spec["audiences"]), spec["expirationSeconds"], now, issuer.new_uid(), issuer.name
    )
    expires = format_timestamp(now + spec["expirationSeconds"])
    answer["status"] = {"token": issuer.sign(claims).reveal(), "expirationTimestamp": expires}
    return answer


def _find_account(request: JsonObject, namespace: str, name: str, find: FindObject) -> JsonObject:
    metadata = request.get("metadata") or {}
    for field, meant in (("name", name), ("namespace", namespace)):
        said = metadata.get(field)
        if said and said != meant:
            problem = f"must match the service account {field} if specified"
            raise invalid("TokenRequest", GROUP, name, [invalid_value(f"metadata.{field}", said, problem)])
    account = find("serviceaccounts", namespace, name)
    if account is None:
        raise not_found("serviceaccounts", "", name)
    said, uid = metadata.get("uid"), account["metadata"]["uid"]
    if said and said != uid:
        why = f"the UID in the token request ({said}) does not match the UID of the service account ({uid})"
        raise conflict("TokenRequest", GROUP, name, why)
    return account


def _fill_in(request: JsonObject, account: JsonObject, audiences: tuple[str, ...], now: float) -> JsonObject:
    answer: JsonObject = copy_tree(request)
    answer["apiVersion"], answer["kind"] = f"{GROUP}/v1", "TokenRequest"
    known = {key: account["metadata"][key] for key in ("name", "namespace", "uid")}
    answer["metadata"] = {**(answer.get("metadata") or {}), **known, "creationTimestamp": format_timestamp(now)}
    spec = answer["spec"] = answer.get("spec") or {}
    spec["audiences"] = spec.get("audiences") or list(audiences)
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = DEFAULT_SECONDS
    spec.setdefault("boundObjectRef", None)
    return answer


def _check_seconds(seconds: int) -> list[Cause]:
    field = "spec.expirationSeconds"
    if seconds < SHORTEST:
        return [invalid_value(field, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > LONGEST:
        return [invalid_value(field, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def _bind(reference: JsonObject | None, account: JsonObject, find: FindObject) -> BoundTo:
    metadata = account["metadata"]
    bound = BoundTo(metadata["namespace"], Reference(metadata["name"], metadata["uid"]))
    if reference is None:
        return bound
    kind = reference.get("kind") or ""
    found = _find_bound(reference, kind, bound, find)
    own = Reference(found["metadata"]["name"], found["metadata"]["uid"])
    if kind == "Pod":
        return BoundTo(bound.namespace, bound.service_account, pod=own, node=_node_of(found, find))
    if kind == "Secret":
        return BoundTo(bound.namespace, bound.service_account, secret=own)
    return BoundTo(bound.namespace, bound.service_account, node=own)


def _find_bound(reference: JsonObject, kind: str, bound: BoundTo, find: FindObject) -> JsonObject:
    version, name = reference.get("apiVersion") or "", reference.get("name") or ""
    if kind not in _RESOURCES or "/" in version:
        raise bad_request(f"cannot bind token to object of type {_describe_kind(version, kind)}")
    found = find(_RESOURCES[kind], "" if kind == "Node" else bound.namespace, name)
    if found is None:
        raise not_found(_RESOURCES[kind], "", name)
    if kind == "Pod" and (found["spec"].get("serviceAccountName") or "") != bound.service_account.name:
        account = go_quote(bound.service_account.name)
        other = "to pod running with different serviceaccount name."
        raise bad_request(f"cannot bind token for serviceaccount {account} {other}")
    said = reference.get("uid")
    if said and said != found["metadata"]["uid"]:
        why = f"the UID in the bound object reference ({said}) does not match the UID in record."
        raise conflict(kind, "", name, f"{why} The object might have been deleted and then recreated")
    return found


def _node_of(pod: JsonObject, find: FindObject) -> Reference | None:
    """Where the Pod runs. A Node that is not there is named without a uid."""
    name = pod["spec"].get("nodeName")
    if not name:
        return None
    node = find("nodes", "", name)
    return Reference(name, node["metadata"]["uid"] if node else "")


def _describe_kind(api_version: str, kind: str) -> str:
    group, slash, version = api_version.rpartition("/")
    return f"{group if slash else ''}/{version}, Kind={kind}"
