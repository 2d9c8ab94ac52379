"""Who a request comes from, and the names Kubernetes gives to users and groups.

Rules: everybody with valid credentials is in ``system:authenticated``; a ServiceAccount is the user
``system:serviceaccount:<namespace>:<name>``, in the group of all ServiceAccounts and in that of its namespace.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject
from heliostat.kube.names import dns1123_label_problems, dns1123_subdomain_problems

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
SERVICE_ACCOUNTS = "system:serviceaccounts"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
_SERVICE_ACCOUNT = "system:serviceaccount:"


class User(Struct, frozen=True):
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))


def build_authenticated(
    name: str, groups: Iterable[str] = (), *, uid: str = "", extra: Mapping[str, tuple[str, ...]] | None = None
) -> User:
    """A user whose credentials were checked. The group of everybody comes last, as kube-apiserver lists it."""
    own = tuple(group for group in groups if group != AUTHENTICATED)
    return User(name, uid, (*own, AUTHENTICATED), dict(extra or {}))


def service_account_user_name(namespace: str, name: str) -> str:
    return f"{_SERVICE_ACCOUNT}{namespace}:{name}"


def split_service_account(user_name: str) -> tuple[str, str] | None:
    """Namespace and name of the ServiceAccount that the user is; None for anybody else."""
    namespace, colon, name = user_name.removeprefix(_SERVICE_ACCOUNT).partition(":")
    if not user_name.startswith(_SERVICE_ACCOUNT) or not colon:
        return None
    is_wrong = dns1123_label_problems(namespace) or dns1123_subdomain_problems(name)
    return None if is_wrong else (namespace, name)


def service_account_groups(namespace: str) -> tuple[str, str]:
    return SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}"


def build_user_info(user: User) -> JsonObject:
    """The user as ``UserInfo`` of the authentication API; empty fields are left out."""
    fields: dict[str, Any] = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in sorted(user.extra.items())},
    }
    return {key: value for key, value in fields.items() if value}
