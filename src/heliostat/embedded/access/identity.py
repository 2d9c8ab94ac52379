"""What makes a server the same one after a restart: its authority, its own certificate, its token signing key.

Rules: each pair of certificate and key is one file, so that no crash leaves two halves that do not fit; what is missing
is made, what is due is made anew, what is damaged or readable by others is refused and left as it is. The authority and
the signing key are never replaced by themselves, because every client and every token depends on them.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from heliostat.embedded.access.certificates import (
    CertificateError,
    Credential,
    build_authority,
    build_server_certificate,
    decide_renewal,
    has_expired,
    is_from_the_future,
    read_certificate,
)
from heliostat.embedded.access.private_files import (
    UnsafeFileError,
    create_private,
    make_private_directory,
    read_private,
    replace_private,
)
from heliostat.embedded.access.private_keys import KeyTextError, new_private_key, read_private_key
from heliostat.kube.hidden import Hidden

AUTHORITY_FILE = "ca.pem"
SERVER_FILE = "apiserver.pem"
SIGNING_KEY_FILE = "service-accounts.pem"
_BEGIN_CERTIFICATE = "-----BEGIN CERTIFICATE-----"


class Identity(Struct, frozen=True):
    authority: Credential
    server: Credential
    signing_key: Hidden  # signs ServiceAccount tokens


def new_identity(now: float, extra_names: Iterable[str] = ()) -> Identity:
    """An identity that ends with the process: for tests and for ``--memory``."""
    authority = build_authority(now)
    return Identity(authority, build_server_certificate(authority, now, extra_names), new_private_key())


def load_identity(directory: Path, now: float, extra_names: Iterable[str] = ()) -> Identity:
    """The identity kept in ``directory``; what is missing there is made. Also the way to rotate: load it again."""
    names = tuple(extra_names)
    make_private_directory(directory)
    authority = _load_authority(directory / AUTHORITY_FILE, now)
    server = _load_server(directory / SERVER_FILE, authority, now, names)
    return Identity(authority, server, _load_signing_key(directory / SIGNING_KEY_FILE))


def _load_authority(path: Path, now: float) -> Credential:
    text = read_private(path) or _create(path, _join(build_authority(now)))
    authority = _split(path, text)
    clock = f"by this machine's clock it is {datetime.fromtimestamp(now, UTC):%Y-%m-%d %H:%M} UTC"
    if has_expired(authority, now):
        fix = f"{clock}: set the clock if that is wrong; else move the file away, clients then need new ones"
        raise UnsafeFileError(path, "the certificate authority has expired", fix)
    if is_from_the_future(authority, now):
        fix = f"{clock}: set the clock; if it is right, move the file away, clients then need new ones"
        raise UnsafeFileError(path, "the certificate authority is not valid yet, so no client would trust it", fix)
    return authority


def _load_server(path: Path, authority: Credential, now: float, names: tuple[str, ...]) -> Credential:
    text = read_private(path)
    server = None if text is None else _split(path, text)
    if server is not None and decide_renewal(server, authority, names, now) is None:
        return server
    server = build_server_certificate(authority, now, names)
    replace_private(path, _join(server))
    return server


def _load_signing_key(path: Path) -> Hidden:
    key = read_private(path) or _create(path, new_private_key())
    try:
        read_private_key(key)
    except KeyTextError as error:
        raise _damaged(path, error) from None
    return key


def _create(path: Path, text: Hidden) -> Hidden:
    """The text that is there in the end: ours, or that of a process that was quicker."""
    if create_private(path, text):
        return text
    return read_private(path) or text


def _join(credential: Credential) -> Hidden:
    return Hidden(credential.key.reveal() + credential.certificate)


def _split(path: Path, text: Hidden) -> Credential:
    key, marker, rest = text.reveal().partition(_BEGIN_CERTIFICATE)
    credential = Credential(marker + rest, Hidden(key))
    try:
        public = read_private_key(credential.key).public_key()
        fits = public == read_certificate(credential.certificate).public_key()
    except (KeyTextError, CertificateError) as error:
        raise _damaged(path, error) from None
    if not fits:
        raise _damaged(path, CertificateError("its certificate and its key do not belong together"))
    return credential


def _damaged(path: Path, error: Exception) -> UnsafeFileError:
    return UnsafeFileError(path, f"is damaged: {error}", "restore it from a copy, or move it away to get a new one")
