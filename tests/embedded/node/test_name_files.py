"""By which names a Pod knows itself and finds others."""

import pytest

from embedded.node.pod_shapes import build_pod
from heliostat.embedded.node.name_files import build_hosts, build_hosts_of_host, build_resolv_conf, hostname_of

OF_HOST = "# made by hand\nnameserver 192.0.2.1\nsearch old.org\nsearch home.arpa lan\noptions edns0 ndots:1\n"
CLUSTER = ["search default.svc.cluster.local svc.cluster.local cluster.local", "options ndots:5"]
HOST = ["search home.arpa lan", "options edns0 ndots:1"]


def test_the_pod_is_in_its_own_hosts_file_with_its_aliases() -> None:
    pod = build_pod(subdomain="group", hostAliases=[{"ip": "10.1.2.3", "hostnames": ["a", "b"]}])
    assert build_hosts(pod, "p", "10.244.0.2", "cluster.local").splitlines()[1:] == [
        "127.0.0.1\tlocalhost",
        "10.244.0.2\tp.group.default.svc.cluster.local\tp",
        "10.1.2.3\ta\tb",
    ]


def test_the_resolver_looks_in_the_pods_namespace_first() -> None:
    assert build_resolv_conf(build_pod(), "10.96.0.10", "cluster.local").splitlines() == [
        "nameserver 10.96.0.10",
        "search default.svc.cluster.local svc.cluster.local cluster.local",
        "options ndots:5",
    ]


def test_a_dns_config_is_added_and_stands_alone_with_policy_none() -> None:
    config = {
        "nameservers": ["1.1.1.1"],
        "searches": ["x.org"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
    }
    added = build_resolv_conf(build_pod(dnsConfig=config), "10.96.0.10", "cluster.local")
    assert "nameserver 10.96.0.10\nnameserver 1.1.1.1\n" in added
    assert "options ndots:2 edns0\n" in added
    alone = build_resolv_conf(build_pod(dnsConfig=config, dnsPolicy="None"), "10.96.0.10", "cluster.local")
    assert alone == "nameserver 1.1.1.1\nsearch x.org\noptions ndots:2 edns0\n"


@pytest.mark.parametrize(
    ("policy", "host_network", "names"),
    [
        ("ClusterFirst", False, CLUSTER),
        ("Default", False, HOST),
        ("ClusterFirst", True, HOST),
        ("ClusterFirstWithHostNet", True, CLUSTER),
        ("Default", True, HOST),
    ],
)
def test_the_policy_says_whose_names_are_searched(policy: str, host_network: bool, names: list[str]) -> None:
    """Asked is always our own server, which asks those of the host."""
    pod = build_pod(dnsPolicy=policy, hostNetwork=host_network)
    found = build_resolv_conf(pod, "10.96.0.10", "cluster.local", OF_HOST)
    assert found.splitlines() == ["nameserver 10.96.0.10", *names]


def test_a_host_without_a_resolver_has_no_names() -> None:
    assert build_resolv_conf(build_pod(dnsPolicy="Default"), "10.96.0.10", "cluster.local") == "nameserver 10.96.0.10\n"


def test_in_the_network_of_the_node_a_pod_has_its_name_and_hosts() -> None:
    pod = build_pod(hostNetwork=True, hostname="own", hostAliases=[{"ip": "10.1.2.3", "hostnames": ["a"]}])
    assert hostname_of(pod) == "n"
    assert build_hosts_of_host(pod, "127.0.0.1 localhost\n").splitlines()[1:] == ["127.0.0.1 localhost", "10.1.2.3\ta"]
    assert [hostname_of(build_pod(hostname="own")), hostname_of(build_pod())] == ["own", "p"]
