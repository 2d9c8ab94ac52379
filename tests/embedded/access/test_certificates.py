"""The authority and what it signs: names, times, purposes, renewal."""

import pytest
from cryptography import x509

from heliostat.embedded.access.certificates import (
    CLOCK_SKEW,
    DAY,
    LEAF_LIFE,
    SERVER_NAMES,
    CertificateError,
    Credential,
    build_authority,
    build_client_certificate,
    build_server_certificate,
    decide_renewal,
    has_expired,
    is_due,
    read_certificate,
)
from heliostat.embedded.access.client_certificates import read_client_certificate
from heliostat.embedded.access.private_keys import KeyTextError, new_private_key, read_private_key
from heliostat.kube.hidden import Hidden

NOW = 1_800_000_000.0
AUTHORITY = build_authority(NOW)


def der(credential: Credential) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return read_certificate(credential.certificate).public_bytes(Encoding.DER)


def alternative_names(credential: Credential) -> set[str]:
    found = read_certificate(credential.certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return {str(name.value) for name in found.value}


def test_a_server_certificate_names_everything_an_api_server_is_called() -> None:
    server = build_server_certificate(AUTHORITY, NOW, ["box.example", "192.0.2.7", "localhost"])
    assert alternative_names(server) == {*SERVER_NAMES, "box.example", "192.0.2.7"}
    assert {"localhost", "127.0.0.1", "::1", "kubernetes.default.svc", "10.96.0.1"} <= alternative_names(server)


def test_a_client_certificate_carries_user_and_groups() -> None:
    client = build_client_certificate(AUTHORITY, "ann", ["system:masters", "ops"], NOW)
    found = read_client_certificate(der(client))
    assert (found.common_name, found.organizations) == ("ann", ("system:masters", "ops"))
    assert found.not_after == NOW + LEAF_LIFE
    assert len(found.fingerprint) == 64


def test_a_certificate_without_a_common_name_names_nobody() -> None:
    server_like = read_client_certificate(der(AUTHORITY))
    assert server_like.common_name == "heliostat-ca"
    key = read_private_key(AUTHORITY.key)
    from datetime import UTC, datetime

    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding

    nameless = (
        x509.CertificateBuilder(x509.Name([]), x509.Name([]), key.public_key(), 1)
        .not_valid_before(datetime.fromtimestamp(NOW, UTC))
        .not_valid_after(datetime.fromtimestamp(NOW + 1, UTC))
        .sign(key, hashes.SHA256())
    )
    assert read_client_certificate(nameless.public_bytes(Encoding.DER)).common_name == ""


def test_only_the_authority_may_sign_and_leaves_serve_one_purpose() -> None:
    def constraints(credential: Credential) -> x509.BasicConstraints:
        return read_certificate(credential.certificate).extensions.get_extension_for_class(x509.BasicConstraints).value

    def purposes(credential: Credential) -> list[str]:
        found = read_certificate(credential.certificate).extensions.get_extension_for_class(x509.ExtendedKeyUsage)
        return [purpose.dotted_string for purpose in found.value]

    server = build_server_certificate(AUTHORITY, NOW)
    client = build_client_certificate(AUTHORITY, "ann", [], NOW)
    assert constraints(AUTHORITY) == x509.BasicConstraints(ca=True, path_length=0)
    assert not constraints(server).ca
    assert not constraints(client).ca
    assert purposes(server) == ["1.3.6.1.5.5.7.3.1"]
    assert purposes(client) == ["1.3.6.1.5.5.7.3.2"]


def test_a_leaf_does_not_outlive_its_authority() -> None:
    short = build_authority(NOW, life=30 * DAY)
    leaf = read_certificate(build_client_certificate(short, "ann", [], NOW).certificate)
    assert leaf.not_valid_after_utc.timestamp() == NOW + 30 * DAY


def test_clocks_may_be_a_little_behind() -> None:
    leaf = read_certificate(build_client_certificate(AUTHORITY, "ann", [], NOW).certificate)
    assert leaf.not_valid_before_utc.timestamp() == NOW - CLOCK_SKEW


def test_serial_numbers_and_keys_differ() -> None:
    first, second = (build_client_certificate(AUTHORITY, "ann", [], NOW) for _ in range(2))
    assert read_certificate(first.certificate).serial_number != read_certificate(second.certificate).serial_number
    assert not first.key.matches(second.key.reveal())


@pytest.mark.parametrize(
    ("age", "due", "expired"),
    [
        (0.0, False, False),
        (LEAF_LIFE * 0.6, False, False),
        (LEAF_LIFE * 0.67, True, False),
        (LEAF_LIFE, True, False),
        (LEAF_LIFE + 1, True, True),
        (-DAY, True, False),
    ],
)
def test_a_certificate_is_due_when_a_third_of_its_life_is_left(age: float, due: bool, expired: bool) -> None:
    server = build_server_certificate(AUTHORITY, NOW)
    assert is_due(server, NOW + age) is due
    assert has_expired(server, NOW + age) is expired


def test_a_server_certificate_is_renewed_for_a_reason() -> None:
    server = build_server_certificate(AUTHORITY, NOW, ["box.example"])
    assert decide_renewal(server, AUTHORITY, ["box.example"], NOW) is None
    assert decide_renewal(server, AUTHORITY, [], NOW) is None, "a name too many does no harm"
    assert decide_renewal(server, AUTHORITY, ["192.0.2.7"], NOW) == "it does not name 192.0.2.7"
    assert decide_renewal(server, build_authority(NOW), [], NOW) == "another authority signed it"
    assert decide_renewal(server, AUTHORITY, [], NOW + LEAF_LIFE) == "two thirds of its life are over"


@pytest.mark.parametrize("name", ["", "two words", "bücher.example"])
def test_names_no_certificate_can_carry_are_refused(name: str) -> None:
    with pytest.raises(CertificateError, match="neither an address nor a host name"):
        build_server_certificate(AUTHORITY, NOW, [name])


@pytest.mark.parametrize(("user", "groups"), [("", []), ("x" * 65, []), ("ann", [""]), ("ann", ["g" * 65])])
def test_users_no_certificate_can_carry_are_refused(user: str, groups: list[str]) -> None:
    with pytest.raises(CertificateError, match="1 to 64 characters"):
        build_client_certificate(AUTHORITY, user, groups, NOW)


@pytest.mark.parametrize("text", ["", "junk", AUTHORITY.certificate])
def test_what_is_no_key_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(KeyTextError) as caught:
        read_private_key(Hidden(text))
    assert not text or text not in str(caught.value)


def test_a_key_of_another_kind_is_refused() -> None:
    from cryptography.hazmat.primitives.asymmetric import ed25519
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    other = ed25519.Ed25519PrivateKey.generate()
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with pytest.raises(KeyTextError, match="P-256"):
        read_private_key(Hidden(pem))
    assert read_private_key(new_private_key()).curve.name == "secp256r1"


def test_what_is_no_certificate_is_refused() -> None:
    with pytest.raises(CertificateError, match="PEM"):
        read_certificate("junk")
