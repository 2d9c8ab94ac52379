"""Where nothing is kept apart nobody serves names of Services: which texts are taken for one."""

import pytest

from heliostat.embedded.node.isolating.plain_pods import replace_services
from heliostat.embedded.node.node_facts import NodeFacts

FACTS = NodeFacts(host_address="192.0.2.7", dns_address="10.96.0.10")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a-head-svc.default.svc.cluster.local", "192.0.2.7"),
        ("a-head-svc.default.svc.cluster.local:6379", "192.0.2.7:6379"),
        ("a-head-svc.default.svc.cluster.local.:6379", "192.0.2.7:6379"),
        ("http://a.b.svc:8265/api", "http://192.0.2.7:8265/api"),
        ("ray start --address=a.b.svc.cluster.local:6379 --block", "ray start --address=192.0.2.7:6379 --block"),
        ("a.b.svc,c.d.svc", "192.0.2.7,192.0.2.7"),
    ],
)
def test_names_of_services_become_the_address_of_the_machine(text: str, wanted: str) -> None:
    assert replace_services(text, FACTS) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.b.example.org",
        "localhost,.svc,.svc.cluster.local",
        "svc.cluster.local",
        "b.svc.cluster.local",
        "pod.a.b.svc.cluster.local",
        "a.b.svc.example.org",
        "a.b.svcs",
        "a.b.svc-1",
        "/etc/a.b.svc.d/file",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert replace_services(text, FACTS) == text
