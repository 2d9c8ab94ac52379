"""Acting as somebody else: the ``Impersonate-*`` headers of a request, and who is asking once they are granted.

Rules: the user needs the verb ``impersonate`` on everything that is named: the user or the ServiceAccount (in its
namespace), each group, each value of an extra (``userextras/<key>``) and the uid. Groups, extras and a uid without a
user are an error, not a wish. A ServiceAccount brings its groups unless groups are named; everybody is in the group of
those who are, or are not, authenticated. Other headers of that beginning mean nothing. Pure: rights are handed in.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias
from urllib.parse import unquote

from msgspec import Struct

from heliostat.embedded.access.attributes import HTML, Attributes, build_forbidden
from heliostat.embedded.access.rbac import Decision
from heliostat.embedded.access.users import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    User,
    service_account_groups,
    split_service_account,
)
from heliostat.embedded.refusals import PlainRefusedError, RefusedError
from heliostat.kube.go_text import go_quote

PREFIX = "impersonate-"
_EXTRA = "impersonate-extra-"
_GROUP = "authentication.k8s.io"
_BROKEN_ESCAPE = re.compile("%(?![0-9a-f]{2})")

Decide: TypeAlias = Callable[[User, Attributes], Decision]
Headers: TypeAlias = Iterable[tuple[str, str]]  # names in lower case, each value by itself


class Wishes(Struct, frozen=True):
    """Whom a request wants to be; ``user`` is empty when it does not say."""

    user: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()
    uid: str = ""


def impersonate(user: User, headers: Headers, decide: Decide, uri: str) -> User | RefusedError:
    """The user that the request is to be answered as. ``uri``: what was asked for, as it came."""
    wishes = read_wishes(headers)
    if not wishes.user:
        return _refuse_without_user(wishes, uri) if wishes != Wishes() else user
    for attributes in _list_attributes(wishes):
        decision = decide(user, attributes)
        if not decision.allowed:
            return build_forbidden(user, attributes, decision.reason)
    return _build_user(wishes)


def read_wishes(headers: Headers) -> Wishes:
    named = list(headers)

    def values_of(wanted: str) -> tuple[str, ...]:
        return tuple(value for name, value in named if name == wanted)

    extra = [(_unescape(name.removeprefix(_EXTRA)), value) for name, value in named if name.startswith(_EXTRA)]
    user, uid = _first(values_of("impersonate-user")), _first(values_of("impersonate-uid"))
    return Wishes(user, values_of("impersonate-group"), tuple(extra), uid)


def _first(values: Sequence[str]) -> str:
    return values[0] if values else ""


def _unescape(key: str) -> str:
    """A key that is not escaped as it should be is taken as it stands."""
    return key if _BROKEN_ESCAPE.search(key) else unquote(key)


def _list_attributes(wishes: Wishes) -> list[Attributes]:
    account = split_service_account(wishes.user)
    if account is None:
        asked = [Attributes("impersonate", resource="users", name=wishes.user)]
    else:
        asked = [Attributes("impersonate", resource="serviceaccounts", namespace=account[0], name=account[1])]
    asked += [Attributes("impersonate", resource="groups", name=group) for group in wishes.groups]
    for key, value in wishes.extra:
        asked.append(Attributes("impersonate", group=_GROUP, resource="userextras", subresource=key, name=value))
    if wishes.uid:
        asked.append(Attributes("impersonate", group=_GROUP, resource="uids", name=wishes.uid))
    return asked


def _build_user(wishes: Wishes) -> User:
    extra: dict[str, tuple[str, ...]] = {}
    for key, value in wishes.extra:
        extra[key] = (*extra.get(key, ()), value)
    return User(wishes.user, wishes.uid, _complete_groups(wishes), extra)


def _complete_groups(wishes: Wishes) -> tuple[str, ...]:
    """Whoever names a group of everybody decides about both of them; the anonymous is never left without its own."""
    account = split_service_account(wishes.user)
    groups = service_account_groups(account[0]) if account is not None and not wishes.groups else wishes.groups
    if wishes.user == ANONYMOUS.name:
        return groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    return groups if {AUTHENTICATED, UNAUTHENTICATED} & {*groups} else (*groups, AUTHENTICATED)


def _refuse_without_user(wishes: Wishes, uri: str) -> RefusedError:
    """In kube-apiserver's words, which show each wish as a reference: kind, name, version of the API and field."""
    shown = [f"{{Group  {group}    }}" for group in wishes.groups]
    shown += [f"{{UserExtra  {value}  {_GROUP}/v1  {key}}}" for key, value in wishes.extra]
    shown += [f"{{UID  {wishes.uid}  {_GROUP}/v1  }}"] if wishes.uid else []
    text = f"Internal Server Error: {go_quote(uri)}: requested [{' '.join(shown)}] without impersonating a user\n"
    return PlainRefusedError(500, "InternalError", text.translate(HTML))
