"""Questions about access, answered as objects: may I, may they, what may I, who am I, whose token is this.

Rules: the answer is the request with a status, and is never stored; questions about oneself are about the user of the
request, whatever the body says; a question is about a resource or about a path, not both. The decision is the very one
that guards requests. Sentences are kube-apiserver's. Requests have passed the schema; TokenRequest is another module.
"""

from collections.abc import Iterator

from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.access.policy_rules import Rule
from heliostat.embedded.access.rbac import Policy, join_problems
from heliostat.embedded.access.review_selectors import check_selectors, describe_ignored
from heliostat.embedded.access.tokens import UNKNOWN_TOKEN, CheckToken, Verified
from heliostat.embedded.access.users import User, build_user_info
from heliostat.embedded.refusals import Cause, bad_request, invalid, invalid_value
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.timestamps import format_timestamp

_AUTHORIZATION = "authorization.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"


def answer_self_subject_access_review(request: JsonObject, user: User, policy: Policy) -> JsonObject:
    """May I do this?"""
    _refuse_invalid([*_check_question(_spec(request)), *_check_metadata(request, ())])
    return _answer_access(request, user, policy)


def answer_subject_access_review(request: JsonObject, policy: Policy) -> JsonObject:
    """May they do this?"""
    spec = _spec(request)
    _refuse_invalid([*_check_question(spec, names_subject=True), *_check_metadata(request, ())])
    return _answer_access(request, _subject(spec), policy)


def answer_local_subject_access_review(request: JsonObject, namespace: str, policy: Policy) -> JsonObject:
    """May they do this here? ``namespace`` is the one of the URL."""
    metadata = request.get("metadata") or {}
    request = {**request, "metadata": {**metadata, "namespace": metadata.get("namespace") or namespace}}
    if request["metadata"]["namespace"] != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    spec = _spec(request)
    causes = [*_check_question(spec, names_subject=True), *_check_metadata(request, ("namespace",))]
    _refuse_invalid([*causes, *_check_local(spec, namespace)])
    return _answer_access(request, _subject(spec), policy)


def answer_self_subject_rules_review(request: JsonObject, user: User, policy: Policy) -> JsonObject:
    """What may I do in this namespace? The answer's ``spec`` is empty, as kube-apiserver leaves it."""
    namespace = _spec(request).get("namespace")
    if not namespace:
        raise bad_request("no namespace on request")
    found = policy.rules_for(user, namespace)
    status: JsonObject = {
        "resourceRules": [_resource_rule(rule) for rule in found.rules if rule.resources],
        "nonResourceRules": [_path_rule(rule) for rule in found.rules if rule.paths],
        "incomplete": False,
    }
    if found.missing:
        status["evaluationError"] = join_problems(role.not_found for role in found.missing)
    return _review("SelfSubjectRulesReview", _AUTHORIZATION, {}, spec={}, status=status)


def answer_self_subject_review(user: User, now: float) -> JsonObject:
    """Who am I?"""
    metadata = {"creationTimestamp": format_timestamp(now)}
    return _review("SelfSubjectReview", _AUTHENTICATION, metadata, status={"userInfo": build_user_info(user)})


def answer_token_review(
    request: JsonObject, check_token: CheckToken, audiences: tuple[str, ...], now: float
) -> JsonObject:
    """Whose token is this? ``audiences`` are this server's, asked about when the request names none."""
    spec = _spec(request)
    token = spec.get("token")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    verdict = check_token(token, tuple(spec.get("audiences") or audiences), now)
    status: JsonObject
    if isinstance(verdict, Verified):
        info = build_user_info(verdict.user)
        status = {"authenticated": True, "user": info, "audiences": list(verdict.audiences)}
    else:
        unknown = UNKNOWN_TOKEN.reason
        error = unknown if verdict.reason == unknown else f"[{unknown}, {verdict.reason}]"
        status = {"user": {}, "error": error}
    return _review("TokenReview", _AUTHENTICATION, request.get("metadata") or {}, spec=spec, status=status)


def _answer_access(request: JsonObject, user: User, policy: Policy) -> JsonObject:
    spec = _spec(request)
    decision = policy.decide(user, _attributes(spec))
    status: JsonObject = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    if ignored := describe_ignored(spec.get("resourceAttributes") or {}):
        status["evaluationError"] = ignored
    return _review(request["kind"], _AUTHORIZATION, request.get("metadata") or {}, spec=spec, status=status)


def _attributes(spec: JsonObject) -> Attributes:
    asked = spec.get("resourceAttributes")
    if asked is None:
        asked = spec["nonResourceAttributes"]
        return Attributes(asked.get("verb") or "", path=asked.get("path") or "")
    names = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(*[asked.get(name) or "" for name in names])


def _subject(spec: JsonObject) -> User:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user") or "", spec.get("uid") or "", tuple(spec.get("groups") or ()), extra)


def _check_question(spec: JsonObject, *, names_subject: bool = False) -> Iterator[Cause]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        problem = "cannot be specified in combination with resourceAttributes"
        yield invalid_value("spec.nonResourceAttributes", _shown_path(path), problem)
    if resource is None and path is None:
        problem = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield invalid_value("spec.resourceAttributes", None, problem)
    if names_subject and not spec.get("user") and not spec.get("groups"):
        yield invalid_value("spec.user", "", "at least one of user or group must be specified")
    yield from check_selectors(resource or {})


def _check_metadata(request: JsonObject, allowed: tuple[str, ...]) -> Iterator[Cause]:
    given = (request.get("metadata") or {}).items()
    metadata = {key: value for key, value in given if value and key != "managedFields"}
    if any(key not in allowed for key in metadata):
        problem = "must be empty except for namespace" if allowed else "must be empty"
        yield invalid_value("metadata", metadata, problem)


def _check_local(spec: JsonObject, namespace: str) -> Iterator[Cause]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and (resource.get("namespace") or "") != namespace:
        said = resource.get("namespace") or ""
        yield invalid_value("spec.resourceAttributes.namespace", said, "must match metadata.namespace")
    if path is not None:
        yield invalid_value("spec.nonResourceAttributes", _shown_path(path), "disallowed on this kind of request")


def _shown_path(path: JsonObject) -> JsonObject:
    return {"Path": path.get("path") or "", "Verb": path.get("verb") or ""}  # kube-apiserver shows its inner names


def _refuse_invalid(causes: list[Cause]) -> None:
    if causes:
        raise invalid("", _AUTHORIZATION, "", causes)  # kube-apiserver leaves the kind out, too


def _resource_rule(rule: Rule) -> JsonObject:
    tree = {"verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources, "resourceNames": rule.names}
    return {key: list(values) for key, values in tree.items() if values}


def _path_rule(rule: Rule) -> JsonObject:
    return {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.paths)}


def _spec(request: JsonObject) -> JsonObject:
    return request.get("spec") or {}


def _review(kind: str, group: str, metadata: JsonObject, **parts: JsonObject) -> JsonObject:
    return {"kind": kind, "apiVersion": f"{group}/v1", "metadata": metadata, **parts}
