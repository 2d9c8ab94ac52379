"""Where the server may listen, and what browsers may not send."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.embedded.access.certificates import SERVER_NAMES
from heliostat.embedded.access.listening import DEFAULT_ADDRESS, build_gate, is_loopback, refuse_exposure

LOOPBACK = ["127.0.0.1", "127.8.9.10", "::1", "localhost", "LocalHost", "localhost.", "::ffff:127.0.0.1"]
ELSEWHERE = [
    *("", "0.0.0.0", "::", "192.168.1.5", "10.0.0.1", "fe80::1", "8.8.8.8", "::ffff:8.8.8.8"),  # noqa: S104
    *("box.example", "localhost.evil.example", "127.0.0.1.evil.example", "0", "2130706433"),
]


@pytest.mark.parametrize("address", LOOPBACK)
def test_loopback_needs_nothing(address: str) -> None:
    assert is_loopback(address)
    assert refuse_exposure(address, has_tls=False, has_authentication=False) is None


@pytest.mark.parametrize("address", ELSEWHERE)
@pytest.mark.parametrize(
    ("has_tls", "has_authentication", "missing"),
    [(False, False, "TLS and authentication"), (True, False, "authentication"), (False, True, "TLS")],
)
def test_any_other_address_needs_tls_and_authentication(
    address: str, has_tls: bool, has_authentication: bool, missing: str
) -> None:
    assert not is_loopback(address)
    error = refuse_exposure(address, has_tls=has_tls, has_authentication=has_authentication)
    assert error is not None
    assert f"without {missing}:" in str(error)
    assert f"switch {missing} on, or listen on {DEFAULT_ADDRESS}" in str(error)
    assert refuse_exposure(address, has_tls=True, has_authentication=True) is None


def test_the_default_is_loopback() -> None:
    assert is_loopback(DEFAULT_ADDRESS)


GATE = build_gate([*SERVER_NAMES, "Box.Example"])

# Host, Origin, Sec-Fetch-Site, code (200: passes)
ROWS: list[tuple[str | None, str | None, str | None, int]] = [
    # names
    ("localhost", None, None, 200),
    ("localhost:6443", None, None, 200),
    ("LOCALHOST:6443", None, None, 200),
    ("localhost.:6443", None, None, 200),
    ("box.example:6443", None, None, 200),
    ("kubernetes.default.svc", None, None, 200),
    ("evil.example", None, None, 403),
    ("evil.example:6443", None, None, 403),
    ("localhost.evil.example", None, None, 403),
    ("evillocalhost", None, None, 403),
    ("127.0.0.1.evil.example", None, None, 403),
    ("box.example.evil", None, None, 403),
    # addresses: a page cannot point an address at us
    ("127.0.0.1:6443", None, None, 200),
    ("10.96.0.1", None, None, 200),
    ("192.168.1.5:6443", None, None, 200),
    ("[::1]:6443", None, None, 200),
    ("[::1]", None, None, 200),
    ("[fe80::1]:6443", None, None, 200),
    # what is no host
    (None, None, None, 400),
    ("", None, None, 400),
    (":6443", None, None, 400),
    ("localhost:", None, None, 400),
    ("localhost:x", None, None, 400),
    ("localhost:99999", None, None, 400),
    ("localhost:123456789", None, None, 400),
    ("local host", None, None, 400),
    ("localhost/evil", None, None, 400),
    ("localhost@evil.example", None, None, 400),
    ("user:pw@localhost", None, None, 400),
    ("::1", None, None, 400),
    ("[::1", None, None, 400),
    ("[evil.example]", None, None, 400),
    ("[::1]evil", None, None, 400),
    ("lоcalhost", None, None, 400),  # a Cyrillic letter
    ("localhost\x00", None, None, 400),
    # origins
    ("localhost:6443", "https://localhost:6443", None, 200),
    ("localhost:6443", "http://localhost:6443", None, 200),
    ("127.0.0.1:6443", "https://127.0.0.1:6443", None, 200),
    ("localhost:6443", "HTTPS://LOCALHOST:6443", None, 200),
    ("localhost:6443", "https://evil.example", None, 403),
    ("localhost:6443", "https://localhost", None, 403),
    ("127.0.0.1:6443", "http://127.0.0.1:8265", None, 403),  # another service of this machine
    ("127.0.0.1:6443", "https://localhost:6443", None, 403),
    ("localhost:6443", "https://localhost:6443.evil.example", None, 403),
    ("localhost:6443", "null", None, 403),
    ("localhost:6443", "", None, 403),
    ("localhost:6443", "file://", None, 403),
    ("evil.example:6443", "https://evil.example:6443", None, 403),  # DNS rebinding: same origin, wrong name
    # what browsers say of themselves, also where they send no Origin (images, links)
    ("localhost:6443", None, "same-origin", 200),
    ("localhost:6443", None, "none", 200),
    ("localhost:6443", None, "cross-site", 403),
    ("localhost:6443", None, "same-site", 403),
    ("localhost:6443", "https://localhost:6443", "cross-site", 403),
]


@pytest.mark.parametrize(("host", "origin", "fetch_site", "code"), ROWS)
def test_the_gate_answers_as_the_table_says(
    host: str | None, origin: str | None, fetch_site: str | None, code: int
) -> None:
    refusal = GATE.refuse(host, origin, fetch_site)
    assert (200 if refusal is None else refusal.code) == code


hosts = st.one_of(
    st.text(max_size=20),
    st.from_regex(r"[a-z0-9.\[\]:@/-]{1,20}", fullmatch=True),
    st.builds(
        lambda name, rest: f"{name}{rest}", st.sampled_from([*SERVER_NAMES, "[::1]", "evil"]), st.text(max_size=6)
    ),
)


def is_own_name_or_address(host: str) -> bool:
    name = host[1:].split("]", maxsplit=1)[0] if host.startswith("[") else host.split(":", maxsplit=1)[0]
    try:
        ipaddress.ip_address(name.rstrip("."))
    except ValueError:
        return name.rstrip(".").lower() in GATE.names
    return True


@given(hosts, st.one_of(st.none(), hosts, hosts.map(lambda host: f"https://{host}")))
def test_whatever_comes_is_answered_and_strangers_never_pass(host: str, origin: str | None) -> None:
    refusal = GATE.refuse(host, origin)
    if refusal is None:
        assert is_own_name_or_address(host)
        assert origin is None or origin.lower() in (f"https://{host.lower()}", f"http://{host.lower()}")
    else:
        assert refusal.code in (400, 403)
