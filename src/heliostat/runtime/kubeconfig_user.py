"""The user of a kubeconfig: how it proves who it is, and as whom it acts.

Preference, as client-go has it: inline data to a file, a token file to a token, a token to an exec plugin. What
contradicts itself is refused. Auth providers are gone from Kubernetes since 1.26, and are refused with what came after.
"""

from base64 import b64decode
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

from heliostat.kube.hidden import Hidden
from heliostat.kube.jsontree import JsonObject
from heliostat.runtime.connection import AccessError, Credentials, Text
from heliostat.runtime.exec_plugin import VERSIONS, ExecCredentials, ExecPlugin
from heliostat.runtime.kubeconfig_file import Entry, Exec, User
from heliostat.runtime.stored_credentials import StoredCredentials, build_bearer
from heliostat.runtime.stored_texts import FileText, FixedText

INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")


def credentials_of(
    entry: Entry[User], where: str, cluster: JsonObject, environ: Mapping[str, str], now: Callable[[], float]
) -> Credentials:
    """``cluster`` is what an exec plugin is told when it asks for it."""
    user = entry.value
    _refuse_contradictions(user, where)
    token = _token(entry, where)
    if user.exec is not None and token is None:
        return ExecCredentials(_plugin(user.exec, entry.file.parent, where, cluster), environ, now)
    certificate = _certificate(entry, where)
    name = f"{user.username}:{user.password.reveal() if user.password else ''}"
    return StoredCredentials(
        where, token=token, password=Hidden(name) if user.username else None, certificate=certificate
    )


def impersonation_of(user: User, where: str) -> tuple[tuple[str, str], ...]:
    """The headers that say as whom."""
    if not user.as_:
        if user.as_uid or user.as_groups or user.as_user_extra:
            raise AccessError(where, "as-uid, as-groups or as-user-extra without as", "say as whom, or remove them")
        return ()
    headers = [("Impersonate-User", user.as_)]
    headers += [("Impersonate-Uid", user.as_uid)] if user.as_uid else []
    headers += [("Impersonate-Group", group) for group in user.as_groups]
    for key, values in user.as_user_extra.items():
        headers += [(f"Impersonate-Extra-{quote(key, safe='')}", value) for value in values]
    if not all(value.isprintable() for _name, value in headers):
        raise AccessError(where, "a name to act as has characters that cannot be sent", "use visible characters")
    return tuple(headers)


def text_of(data: Hidden | None, file: str, entry_file: Path, where: str, what: str) -> Text | None:
    """Inline base64, or a file; it is read once now, so that what is wrong is said at the start."""
    if data is not None and data.reveal():
        return FixedText(decode_base64(data, where, f"{what}-data"))
    if not file:
        return None
    text = FileText(entry_file.parent / file, where, what)
    text.read()
    return text


def decode_base64(data: Hidden, where: str, what: str) -> Hidden:
    try:
        return Hidden(b64decode("".join(data.reveal().split()), validate=True).decode())
    except ValueError:
        raise AccessError(where, f"{what} is not a text in base64", "encode the PEM file: base64 -w0 FILE") from None


def _refuse_contradictions(user: User, where: str) -> None:
    if user.auth_provider is not None:
        problem = f"the auth provider {user.auth_provider.name!r} no longer exists in Kubernetes"
        raise AccessError(where, problem, "use the exec plugin that took its place")
    if user.username and (user.token is not None or user.token_file):
        raise AccessError(where, "has both a token and a username", "keep one of them")


def _token(entry: Entry[User], where: str) -> Text | None:
    user = entry.value
    text: Text | None = None
    if user.token_file:
        text = FileText(entry.file.parent / user.token_file, where, "tokenFile")
    elif user.token is not None and user.token.reveal():
        text = FixedText(user.token)
    if text is not None:
        build_bearer(text.read(), where)
    return text


def _certificate(entry: Entry[User], where: str) -> tuple[Text, Text] | None:
    user = entry.value
    data = Hidden(user.client_certificate_data) if user.client_certificate_data else None
    chain = text_of(data, user.client_certificate, entry.file, where, "client-certificate")
    key = text_of(user.client_key_data, user.client_key, entry.file, where, "client-key")
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        missing = "client-certificate" if chain is None else "client-key"
        raise AccessError(where, f"{missing} is missing", "a certificate needs its key: give both or neither")
    return chain, key


def _plugin(wanted: Exec, folder: Path, where: str, cluster: JsonObject) -> ExecPlugin:
    if not wanted.command:
        raise AccessError(where, "the exec plugin has no command", "name the program in exec.command")
    if wanted.api_version not in VERSIONS:
        shown = wanted.api_version or "no apiVersion"
        raise AccessError(where, f"the exec plugin {wanted.command} has {shown}", f"use one of {', '.join(VERSIONS)}")
    _refuse_interaction(wanted, where)
    return ExecPlugin(
        where=where,
        command=str(folder / wanted.command) if "/" in wanted.command else wanted.command,
        api_version=wanted.api_version,
        args=wanted.args,
        env=tuple((variable.name, variable.value) for variable in wanted.env),
        install_hint=wanted.install_hint,
        cluster=cluster if wanted.provide_cluster_info else None,
    )


def _refuse_interaction(wanted: Exec, where: str) -> None:
    needed = wanted.api_version == VERSIONS[0]
    if wanted.interactive_mode not in INTERACTIVE_MODES and (wanted.interactive_mode or needed):
        shown = f"the exec plugin {wanted.command} has interactiveMode {wanted.interactive_mode!r}"
        raise AccessError(where, shown, f"use one of {', '.join(INTERACTIVE_MODES)}")
    if wanted.interactive_mode == "Always":
        problem = f"the exec plugin {wanted.command} always wants to ask somebody, and nobody is there"
        raise AccessError(where, problem, "use credentials that work without a person, or interactiveMode IfAvailable")
