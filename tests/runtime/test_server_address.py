"""Which addresses can be used, and through which proxy."""

import pytest

from heliostat.kube.hidden import Hidden
from heliostat.runtime.connection import AccessError
from heliostat.runtime.server_address import check_address, check_proxy, decide_proxy, split_proxy


@pytest.mark.parametrize(
    ("server", "checked"),
    [
        ("https://host:6443", "https://host:6443"),
        ("https://host/k8s/clusters/c-1/", "https://host/k8s/clusters/c-1"),
        ("https://[fd00::1]:6443", "https://[fd00::1]:6443"),
        ("http://127.0.0.1:8001", "http://127.0.0.1:8001"),
        ("http://localhost:8001", "http://localhost:8001"),
    ],
)
def test_addresses_that_can_be_used(server: str, checked: str) -> None:
    assert check_address(server, "here") == checked


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ("", "here: has no server; write it like https://host:6443"),
        ("host:6443", "here: has a server that is no address"),
        ("https://", "here: has a server that is no address"),
        ("https://host:port", "here: has a server that is no address"),
        ("https://[::1", "here: has a server that is no address"),
        ("ftp://host", "here: has a server that is no address"),
        ("https://ann:canary@host", "has more than host, port and path"),
        ("https://host?x=canary", "has more than host, port and path"),
        ("http://host:8080", "the server http://host:8080 is not encrypted; use https"),
    ],
)
def test_addresses_that_cannot(server: str, problem: str) -> None:
    with pytest.raises(AccessError) as raised:
        check_address(server, "here")
    assert problem in str(raised.value)
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize("proxy", ["socks5://host:1080", "host:3128", "http://"])
def test_proxies_that_cannot_be_used(proxy: str) -> None:
    with pytest.raises(AccessError, match="write it like http://host:3128"):
        check_proxy(Hidden(proxy), "here")


@pytest.mark.parametrize(
    ("proxy", "address", "login"),
    [
        ("http://proxy:3128", "http://proxy:3128", None),
        ("http://ann:b%40c@proxy:3128/", "http://proxy:3128", "Basic YW5uOmJAYw=="),
        ("https://ann@[::1]:1", "https://[::1]:1", "Basic YW5uOg=="),
    ],
)
def test_the_login_of_a_proxy_is_no_part_of_its_address(proxy: str, address: str, login: str | None) -> None:
    found, hidden = split_proxy(Hidden(proxy))
    assert (found, hidden.reveal() if hidden else None) == (address, login)


PROXY = {"HTTPS_PROXY": "http://proxy:3128"}


@pytest.mark.parametrize(
    ("server", "environ", "through"),
    [
        ("https://host:6443", {}, None),
        ("https://host:6443", PROXY, "http://proxy:3128"),
        ("https://host:6443", {"https_proxy": "proxy:3128"}, "http://proxy:3128"),
        ("https://host:6443", {"HTTP_PROXY": "http://proxy:3128"}, None),
        ("https://127.0.0.1:6443", PROXY, None),
        ("https://localhost:6443", PROXY, None),
        ("https://10.96.0.1:443", {**PROXY, "NO_PROXY": "10.0.0.0/8"}, None),
        ("https://10.96.0.1:443", {**PROXY, "NO_PROXY": "10.96.0.1"}, None),
        ("https://11.96.0.1:443", {**PROXY, "NO_PROXY": "10.0.0.0/8, x"}, "http://proxy:3128"),
        ("https://[fd00::1]:443", {**PROXY, "NO_PROXY": "fd00::/8"}, None),
        ("https://api.example.com", {**PROXY, "NO_PROXY": "other, example.com"}, None),
        ("https://api.example.com", {**PROXY, "no_proxy": ".example.com"}, None),
        ("https://example.com", {**PROXY, "NO_PROXY": ".example.com"}, "http://proxy:3128"),
        ("https://api.example.com", {**PROXY, "NO_PROXY": "*.example.com"}, None),
        ("https://badexample.com", {**PROXY, "NO_PROXY": "example.com"}, "http://proxy:3128"),
        ("https://example.com:6443", {**PROXY, "NO_PROXY": "example.com:6443"}, None),
        ("https://example.com:6443", {**PROXY, "NO_PROXY": "example.com:443"}, "http://proxy:3128"),
        ("https://anything", {**PROXY, "NO_PROXY": "*"}, None),
    ],
)
def test_the_environment_chooses_a_proxy(server: str, environ: dict[str, str], through: str | None) -> None:
    found = decide_proxy(server, environ)
    assert (found.reveal() if found else None) == through
