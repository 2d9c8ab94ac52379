"""Services and what stands around them: addresses, ports, Ingress, policies, EndpointSlices."""

from conformance.model import Json, sequence
from conformance.objects import endpoint_slice, ingress, network_policy, service
from conformance.requests import create, delete, get, json_patch, listing, merge, update


def _service(**spec: Json) -> Json:
    return service("s", {"ports": [{"port": 80}], **spec})


SEQUENCES = (
    sequence(
        "service-defaults",
        create("services", service("plain")),
        create("services", service("headless", {"clusterIP": "None", "selector": {"a": "b"}})),
        create("services", service("node", {"type": "NodePort", "ports": [{"port": 80}]})),
        create(
            "services", service("balancer", {"type": "LoadBalancer", "ports": [{"port": 80, "targetPort": "http"}]})
        ),
        create("services", service("external", {"type": "ExternalName", "externalName": "example.com"})),
        create(
            "services",
            service("two", {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2, "protocol": "UDP"}]}),
        ),
        create("services", service("sticky", {"sessionAffinity": "ClientIP", "ports": [{"port": 80}]})),
        get("services", "node"),
        listing("services"),
    ),
    sequence(
        "service-refused",
        create("services", _service(ports=[])),
        create("services", _service(ports=[{"port": 0}])),
        create("services", _service(ports=[{"port": 80}, {"port": 81}])),
        create("services", _service(ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "b"}])),
        create("services", _service(ports=[{"port": 80, "name": "a"}, {"port": 81, "name": "a"}])),
        create("services", _service(ports=[{"port": 80, "targetPort": 0}])),
        create("services", _service(ports=[{"port": 80, "targetPort": "Bad_Name"}])),
        create("services", _service(ports=[{"port": 80, "protocol": "ICMP"}])),
        create("services", _service(ports=[{"port": 80, "nodePort": 30001}])),
        create("services", _service(type="NodePort", ports=[{"port": 80, "nodePort": 5}])),
        create("services", _service(type="Odd")),
        create("services", _service(clusterIP="1.2.3.4")),
        create("services", _service(clusterIP="not-an-ip")),
        create("services", _service(sessionAffinity="Odd")),
        create("services", _service(selector={"bad key": "x"})),
        create("services", _service(type="ExternalName")),
        create("services", _service(type="ExternalName", externalName="Bad Name")),
        create("services", _service(externalTrafficPolicy="Local")),
        create("services", _service(internalTrafficPolicy="Odd")),
        create("services", _service(ipFamilyPolicy="Odd")),
        create("services", _service(ipFamilies=["IPv6"])),
        create("services", _service(loadBalancerSourceRanges=["1.2.3.4/99"])),
        create("services", _service(externalIPs=["bad"])),
        create("services", service("1digit")),
        create("services", service("a" * 64)),
        create("services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}),
    ),
    sequence(
        "service-updates",
        create("services", service("a")),
        merge("services", "a", {"spec": {"clusterIP": "10.96.1.77"}}),
        merge("services", "a", {"spec": {"clusterIP": None}}),
        update("services", "a", service("a", {"ports": [{"port": 81}]})),
        json_patch("services", "a", [{"op": "replace", "path": "/spec/ports/0/port", "value": 82}]),
        merge("services", "a", {"spec": {"type": "NodePort"}}),
        merge("services", "a", {"spec": {"type": "ExternalName", "externalName": "example.com"}}),
        merge("services", "a", {"spec": {"type": "ClusterIP", "externalName": None}}),
        merge("services", "a", {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}, "status"),
        merge("services", "a", {"status": {"loadBalancer": {"ingress": [{"ip": "bad"}]}}}, "status"),
        create("services", service("fixed", {"clusterIP": "10.96.9.9", "ports": [{"port": 80}]})),
        create("services", service("again", {"clusterIP": "10.96.9.9", "ports": [{"port": 80}]})),
        delete("services", "fixed"),
        create("services", service("again", {"clusterIP": "10.96.9.9", "ports": [{"port": 80}]})),
        delete("services", "a"),
    ),
    sequence(
        "ingress",
        create("ingresses", ingress("a")),
        create("ingresses", ingress("b", {"rules": None})),
        create("ingresses", ingress("c", {"defaultBackend": {"service": {"name": "x", "port": {"name": "http"}}}})),
        create("ingresses", ingress("d", {"rules": [{"host": "Bad_Host"}]})),
        create("ingresses", ingress("e", {"rules": [{"http": {"paths": [{"path": "x", "pathType": "Prefix"}]}}]})),
        create(
            "ingresses",
            ingress(
                "f",
                {
                    "rules": [
                        {
                            "http": {
                                "paths": [{"path": "/", "backend": {"service": {"name": "x", "port": {"number": 80}}}}]
                            }
                        }
                    ]
                },
            ),
        ),
        create(
            "ingresses",
            ingress("g", {"tls": [{"hosts": ["*.example.com"], "secretName": "s"}], "ingressClassName": "Bad_"}),
        ),
        merge("ingresses", "a", {"spec": {"ingressClassName": "nginx"}}),
        merge("ingresses", "a", {"status": {"loadBalancer": {"ingress": [{"hostname": "x.example.com"}]}}}, "status"),
        get("ingresses", "a"),
        delete("ingresses", "a"),
    ),
    sequence(
        "network-policy",
        create("networkpolicies", network_policy("a")),
        create("networkpolicies", network_policy("b", {"podSelector": {}, "egress": [{}]})),
        create("networkpolicies", network_policy("c", {"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]})),
        create("networkpolicies", network_policy("d", {"podSelector": {}, "policyTypes": ["Odd"]})),
        create("networkpolicies", network_policy("e", {"podSelector": {}, "ingress": [{"from": [{}]}]})),
        create(
            "networkpolicies",
            network_policy("f", {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "x"}}]}]}),
        ),
        create(
            "networkpolicies",
            network_policy("g", {"podSelector": {}, "ingress": [{"ports": [{"port": 0, "protocol": "X"}]}]}),
        ),
        merge("networkpolicies", "a", {"spec": {"policyTypes": ["Ingress", "Egress"]}}),
        merge("networkpolicies", "a", {"metadata": {"labels": {"x": "y"}}}),
        delete("networkpolicies", "a"),
    ),
    sequence(
        "endpoint-slice",
        create("endpointslices", endpoint_slice("a", labels={"kubernetes.io/service-name": "web"})),
        create("endpointslices", {**endpoint_slice("b"), "addressType": "Odd"}),
        create("endpointslices", {**endpoint_slice("c"), "endpoints": [{"addresses": ["bad"]}]}),
        create("endpointslices", {**endpoint_slice("d"), "endpoints": [{"addresses": []}]}),
        create("endpointslices", {**endpoint_slice("e"), "ports": [{"port": 80}, {"port": 81}]}),
        merge("endpointslices", "a", {"addressType": "IPv6"}),
        merge("endpointslices", "a", {"endpoints": []}),
        get("endpointslices", "a"),
        listing("endpointslices", {"labelSelector": "kubernetes.io/service-name=web"}),
        delete("endpointslices", "a"),
    ),
)
