"""RBAC self-check: whether the operator may do what it is going to do; what is missing is told as RBAC rules.

Rules: the API server is asked about each verb (SelfSubjectAccessReview), for all namespaces or for each watched one,
because only its own decision counts; nothing is tried out. Rules are told so that they can be pasted into a Role.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.operator.rights import Need, Right, build_rules
from heliostat.runtime.client import Client
from heliostat.runtime.transport import Call

AT_ONCE = 32  # questions: each has a deadline, which those of a hundred namespaces would miss in our own queue
_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Scope(Struct, frozen=True):
    namespaces: tuple[str, ...]  # empty: all of them
    lease_namespace: str


class Missing(Struct, frozen=True):
    """A right that is not there: of its verbs only those that are refused."""

    right: Right
    namespace: str  # empty: in all of them


class _Question(Struct, frozen=True):
    verb: str
    right: Right
    namespace: str


async def observe_missing(client: Client, rights: Iterable[Right], scope: Scope) -> tuple[Missing, ...]:
    """``client`` must not ask a fence: a question changes nothing. Raises ApiError."""
    questions = list(_list_questions(rights, scope))
    turns = asyncio.Semaphore(AT_ONCE)
    answers = await asyncio.gather(*(_ask_in_turn(turns, client, question) for question in questions))
    refused: dict[tuple[Right, str], list[str]] = {}
    for question, is_allowed in zip(questions, answers, strict=True):
        if not is_allowed:
            refused.setdefault((question.right, question.namespace), []).append(question.verb)
    return tuple(Missing(replace(right, verbs=tuple(verbs)), where) for (right, where), verbs in refused.items())


def explain_missing(missing: Sequence[Missing]) -> str:
    """What to add, and where, as YAML that can be pasted."""
    by_namespace: dict[str, list[Right]] = {}
    for one in missing:
        by_namespace.setdefault(one.namespace, []).append(one.right)
    return "\n".join(_explain(namespace, rights) for namespace, rights in by_namespace.items())


def format_rule(rule: JsonObject) -> str:
    """One line of YAML without double quotes, which logs in JSON would spoil."""
    entries = ", ".join(f"{key}: [{', '.join(value or chr(39) * 2 for value in rule[key])}]" for key in rule)
    return f"- {{{entries}}}"


def _explain(namespace: str, rights: list[Right]) -> str:
    where = f"a Role in namespace {namespace}" if namespace else "its ClusterRole"
    rules = "\n".join(map(format_rule, build_rules(tuple(rights))))
    return f"add to the rules of {where}:\n{rules}"


def _list_questions(rights: Iterable[Right], scope: Scope) -> Iterator[_Question]:
    for right in rights:
        namespaces = (scope.lease_namespace,) if right.need is Need.ELECTION else scope.namespaces or ("",)
        for namespace in namespaces:
            for verb in right.verbs:
                yield _Question(verb, right, namespace)


async def _ask_in_turn(turns: asyncio.Semaphore, client: Client, question: _Question) -> bool:
    async with turns:
        return await _ask(client, question)


async def _ask(client: Client, question: _Question) -> bool:
    resource, _, subresource = question.right.resource.partition("/")
    attributes = {
        "verb": question.verb,
        "group": question.right.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": question.namespace,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.request(Call(method="POST", path=_PATH, body=encode_json(review)))
    return msgspec.json.decode(answer, type=_Review).status.allowed


class _Status(Struct, frozen=True):
    allowed: bool = False


class _Review(Struct, frozen=True):
    status: _Status = _Status()
