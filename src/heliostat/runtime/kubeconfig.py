"""From a kubeconfig to a connection: which file, which context, which cluster.

Rules: relative paths begin in the folder of the file that names them; whatever is missing or contradicts itself is an
``AccessError`` here and now, not at the first request. Only what a program will print is known later.
"""

import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from heliostat.kube.hidden import Hidden
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.nearest import nearest_name
from heliostat.runtime.connection import AccessError, Connection, Credentials, Text
from heliostat.runtime.exec_plugin import GROUP
from heliostat.runtime.in_cluster import find_in_cluster
from heliostat.runtime.kubeconfig_file import Cluster, Context, Entry, Kubeconfig, read_kubeconfig
from heliostat.runtime.kubeconfig_user import credentials_of, impersonation_of, text_of
from heliostat.runtime.server_address import check_address, check_proxy, decide_proxy
from heliostat.runtime.stored_credentials import StoredCredentials

T = TypeVar("T")


def find_connection(
    environ: Mapping[str, str], path: Path | None = None, context: str = "", now: Callable[[], float] = time.time
) -> Connection:
    """The named file; else KUBECONFIG; else the cluster that we run in; else ~/.kube/config. ``now``: epoch seconds."""
    if path is not None:
        return load_connection([_existing(path)], environ, context, now)
    listed = [Path(part) for part in environ.get("KUBECONFIG", "").split(":") if part]
    if listed:
        return load_connection(_with_one_there(listed), environ, context, now)
    found = None if context else find_in_cluster(environ)
    if found is not None:
        return found
    return load_connection([_existing(Path(environ.get("HOME") or "/", ".kube", "config"))], environ, context, now)


def load_connection(
    paths: list[Path], environ: Mapping[str, str], context: str = "", now: Callable[[], float] = time.time
) -> Connection:
    """Of these files together, the named context or the current one."""
    config = read_kubeconfig(paths)
    chosen, cluster = _choose(config, context)
    where = f"cluster {chosen.cluster!r} in {cluster.file}"
    server = check_address(cluster.value.server, where)
    authority = _authority(cluster, where)
    impersonation: tuple[tuple[str, str], ...] = ()
    credentials: Credentials = StoredCredentials(where)  # a user that is not named shows nothing
    if chosen.user:
        user = _pick(config.users, chosen.user, "user", config)
        user_where = f"user {chosen.user!r} in {user.file}"
        told = _tell_cluster(cluster.value, authority)
        credentials = credentials_of(user, user_where, told, environ, now)
        impersonation = impersonation_of(user.value, user_where)
    return Connection(
        server=server,
        credentials=credentials,
        namespace=chosen.namespace or "default",
        authority=authority,
        tls_server_name=cluster.value.tls_server_name,
        skip_tls_verify=cluster.value.insecure_skip_tls_verify,
        proxy=_proxy(cluster.value, where, environ),
        impersonation=impersonation,
    )


def _choose(config: Kubeconfig, context: str) -> tuple[Context, Entry[Cluster]]:
    name = context or config.current_context
    if not name:
        fix = "name a context, or set one: kubectl config use-context NAME"
        raise AccessError(str(config), "there is no current-context", fix)
    chosen = _pick(config.contexts, name, "context", config).value
    if not chosen.cluster:
        raise AccessError(str(config), f"context {name!r} names no cluster", "add the cluster's name to it")
    return chosen, _pick(config.clusters, chosen.cluster, "cluster", config)


def _pick(entries: Mapping[str, Entry[T]], name: str, what: str, config: Kubeconfig) -> Entry[T]:
    found = entries.get(name)
    if found is not None:
        return found
    close = nearest_name(name, entries)
    known = ", ".join(entries) or "none"
    fix = f"did you mean {close!r}?" if close else f"there are: {known}"
    raise AccessError(str(config), f"there is no {what} named {name!r}", fix)


def _authority(cluster: Entry[Cluster], where: str) -> Text | None:
    data = Hidden(cluster.value.certificate_authority_data)
    text = text_of(data, cluster.value.certificate_authority, cluster.file, where, "certificate-authority")
    if text is not None and cluster.value.insecure_skip_tls_verify:
        problem = "has a certificate-authority and insecure-skip-tls-verify"
        raise AccessError(where, problem, "remove insecure-skip-tls-verify, which would ignore the authority")
    return text


def _proxy(cluster: Cluster, where: str, environ: Mapping[str, str]) -> Hidden | None:
    if cluster.proxy_url is not None and cluster.proxy_url.reveal():
        return check_proxy(cluster.proxy_url, where)
    return decide_proxy(cluster.server, environ)


def _tell_cluster(cluster: Cluster, authority: Text | None) -> JsonObject:
    """What an exec plugin hears of the cluster, fields that are not set left out."""
    config = next((one.extension for one in cluster.extensions if one.name == f"{GROUP}/exec"), None)
    told = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": b64encode(authority.read().reveal().encode()).decode() if authority else "",
        "proxy-url": cluster.proxy_url.reveal() if cluster.proxy_url else "",
        "disable-compression": cluster.disable_compression,
    }
    return {key: value for key, value in told.items() if value} | {"config": config}


def _with_one_there(paths: list[Path]) -> list[Path]:
    """As for kubectl: some of several may be missing."""
    return paths if any(path.exists() for path in paths) else [_existing(paths[0])]


def _existing(path: Path) -> Path:
    if not path.exists():
        raise AccessError(str(path), "there is no such kubeconfig", "name a kubeconfig that exists or set KUBECONFIG")
    return path
