"""Services, RBAC, Ingress, Route, Secret, claim, network policies, certificates: raycluster.md §4, §11, §12, §16.7."""

from typing import Any

import pytest

from desired.clusters import desired, gates, make_cluster
from heliostat.api.settings import Settings
from heliostat.desired.ports import is_serving_port
from heliostat.desired.raycluster.mtls import build_leaf_certificates
from heliostat.desired.raycluster.redis_cleanup import build_redis_cleanup_job
from heliostat.desired.slots import Impossible
from heliostat.kube.lookups import JOB
from heliostat.kube.plan import Random
from heliostat.kube.selector_text import parse_selector
from heliostat.operator.kinds import kinds_around


class TestHeadService:
    @pytest.mark.parametrize(
        ("ports", "expected"),
        [
            (None, {"client": 10001, "dashboard": 8265, "gcs-server": 6379, "metrics": 8080, "serve": 8000}),
            ([{"name": "random", "containerPort": 1234}], {"metrics": 8080, "random": 1234}),
            ([{"containerPort": 1234}], {"1234-port": 1234, "metrics": 8080}),
            ([{"name": "metrics", "containerPort": 8081}], {"metrics": 8081}),
        ],
    )
    def test_ports(self, ports: list[Any] | None, expected: dict[str, int]) -> None:
        service = desired(head_container={"ports": ports}).head_service
        assert [(port["name"], port["port"]) for port in service["spec"]["ports"]] == sorted(expected.items())
        assert {port["appProtocol"] for port in service["spec"]["ports"]} == {"tcp"}

    @pytest.mark.parametrize(
        ("settings", "service_type", "headless"),
        [
            (Settings(), None, True),
            (Settings(), "ClusterIP", True),
            (Settings(), "NodePort", False),
            (Settings(head_cluster_ip_service=True), None, False),
        ],
    )
    def test_it_is_headless_unless_told_otherwise(
        self, settings: Settings, service_type: str | None, headless: bool
    ) -> None:
        spec = desired(settings, head={"serviceType": service_type}).head_service["spec"]
        assert (spec.get("clusterIP") == "None") is headless
        assert spec.get("publishNotReadyAddresses", False) is headless

    def test_the_selector_follows_the_app_name_of_the_template(self) -> None:
        service = desired(head={"template": {"metadata": {"labels": {"app.kubernetes.io/name": "mine"}}}}).head_service
        assert service["spec"]["selector"] == service["metadata"]["labels"]
        assert service["spec"]["selector"]["app.kubernetes.io/name"] == "mine"

    def test_a_users_service_keeps_what_is_the_users(self) -> None:
        users = {
            "metadata": {
                "name": "mine",
                "namespace": "elsewhere",
                "labels": {"ray.io/cluster": "x", "own": "label"},
                "annotations": {"a": "user", "b": "user"},
            },
            "spec": {"type": "LoadBalancer", "selector": {"x": "y"}, "ports": [{"name": "extra", "port": 99}]},
        }
        cluster = desired(head={"headService": users}, spec={"headServiceAnnotations": {"a": "spec"}})
        service = cluster.head_service
        assert service["metadata"]["name"] == "mine"
        assert service["metadata"]["namespace"] == "ns"
        assert service["metadata"]["labels"]["ray.io/cluster"] == "demo"
        assert service["metadata"]["labels"]["own"] == "label"
        assert service["metadata"]["annotations"] == {"a": "spec", "b": "user"}
        assert service["spec"]["type"] == "LoadBalancer"
        assert service["spec"]["selector"]["ray.io/node-type"] == "head"
        assert service["spec"]["ports"][0] == {"name": "extra", "port": 99, "protocol": "TCP"}
        assert "clusterIP" not in service["spec"]
        env = cluster.groups[0].template["spec"]["initContainers"][0]["env"]
        assert {"name": "RAY_IP", "value": "mine"} in env


class TestOtherServices:
    def test_multi_host_groups_get_a_headless_service(self) -> None:
        service = desired(worker={"numOfHosts": 4}).headless_service
        assert service is not None
        assert service["metadata"]["labels"] == {"ray.io/headless-worker-svc": "demo"}
        assert service["spec"]["selector"] == {"ray.io/cluster": "demo", "ray.io/node-type": "worker"}
        assert desired().headless_service is None

    def test_the_serve_service_has_exactly_the_serving_ports(self) -> None:
        ports = [
            {"name": name, "containerPort": port}
            for name, port in (("gcs", 6379), ("serve", 8000), ("serve-grpc", 9000), ("dashboard", 8265))
        ]
        service = desired(
            metadata={"annotations": {"ray.io/enable-serve-service": "true"}}, head_container={"ports": ports}
        ).serve_service
        assert isinstance(service, dict)
        assert service["spec"]["ports"] == [{"name": "serve", "port": 8000}, {"name": "serve-grpc", "port": 9000}]
        assert service["spec"]["selector"] == {"ray.io/cluster": "demo"}

    def test_without_a_serving_port_it_cannot_be_built(self) -> None:
        service = desired(
            metadata={"annotations": {"ray.io/enable-serve-service": "true"}},
            head_container={"ports": [{"name": "gcs", "containerPort": 6379}]},
        ).serve_service
        assert isinstance(service, Impossible)

    @pytest.mark.parametrize("value", ["True", "TRUE", "1", ""])
    def test_only_the_exact_word_true_asks_for_it(self, value: str) -> None:
        assert desired(metadata={"annotations": {"ray.io/enable-serve-service": value}}).serve_service is None

    @pytest.mark.parametrize(
        ("name", "expected"),
        [("serve", True), ("serve-grpc", True), ("server", False), ("dashboard", False), ("", False)],
    )
    def test_serving_ports(self, name: str, expected: bool) -> None:
        assert is_serving_port(name) is expected


class TestRbac:
    def test_nothing_without_autoscaling(self) -> None:
        cluster = desired()
        assert (cluster.service_account, cluster.role, cluster.role_binding) == (None, None, None)

    def test_names_of_long_clusters_are_shortened_alike(self) -> None:
        name = "a" * 53
        cluster = desired(metadata={"name": name}, spec={"enableInTreeAutoscaling": True})
        assert cluster.service_account is not None
        assert cluster.role is not None
        assert cluster.role_binding is not None
        short = "a" * 50
        assert cluster.service_account["metadata"]["name"] == cluster.role["metadata"]["name"] == short
        assert cluster.role_binding["roleRef"]["name"] == cluster.role_binding["subjects"][0]["name"] == short
        assert cluster.head_service["metadata"]["name"] == f"{name}-head-svc"

    def test_a_users_account_is_expected_not_made(self) -> None:
        template = {"spec": {"serviceAccountName": "mine"}}
        cluster = desired(spec={"enableInTreeAutoscaling": True}, head={"template": template})
        assert cluster.service_account is None
        assert cluster.user_service_account == "mine"
        assert cluster.role_binding is not None
        assert cluster.role_binding["subjects"][0]["name"] == "mine"


class TestIngress:
    def test_options_and_class(self) -> None:
        options = {"host": "ray.example", "path": "/x", "pathType": "Exact", "tls": [{"hosts": ["ray.example"]}]}
        cluster = desired(
            metadata={"annotations": {"kubernetes.io/ingress.class": "nginx", "note": "kept"}},
            head={"enableIngress": True, "ingressOptions": options},
        )
        assert cluster.ingress is not None
        assert cluster.ingress["metadata"]["annotations"] == {"note": "kept"}
        spec = cluster.ingress["spec"]
        assert spec["ingressClassName"] == "nginx"
        assert spec["tls"] == [{"hosts": ["ray.example"]}]
        rule = spec["rules"][0]
        assert rule["host"] == "ray.example"
        path = rule["http"]["paths"][0]
        assert (path["path"], path["pathType"]) == ("/x", "Exact")
        assert path["backend"] == {"service": {"name": "demo-head-svc", "port": {"number": 8265}}}

    def test_on_openshift_it_is_a_route(self) -> None:
        settings = Settings(openshift_route=True)
        cluster = desired(settings, metadata={"annotations": {"a": "b"}}, head={"enableIngress": True})
        assert cluster.ingress is None
        assert cluster.route is not None
        assert cluster.route["metadata"]["name"] == "demo-head-route"
        assert cluster.route["metadata"]["annotations"] == {"a": "b"}
        assert cluster.route["spec"] == {
            "to": {"kind": "Service", "name": "demo-head-svc", "weight": 100},
            "port": {"targetPort": 8265},
            "wildcardPolicy": "None",
        }


@pytest.mark.parametrize(
    ("options", "made"),
    [
        (None, False),
        ({"mode": "disabled"}, False),
        ({}, True),
        ({"mode": "token"}, True),
        ({"mode": "token", "secretName": "mine"}, False),
        ({"mode": "token", "enableK8sTokenAuth": True}, False),
    ],
)
def test_when_the_token_secret_is_made(options: dict[str, Any] | None, made: bool) -> None:
    secret = desired(spec={"authOptions": options, "rayVersion": "2.55.0"}).auth_secret
    assert (secret is not None) is made
    if secret is not None:
        assert secret["stringData"] == {"auth_token": Random(32)}


class TestGcsClaim:
    def build(self, storage: dict[str, Any]) -> Any:
        options = {"gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": storage}}
        return desired(gates(GCSFaultToleranceEmbeddedStorage=True), spec=options)

    def test_defaults(self) -> None:
        claim = self.build({}).gcs_pvc
        assert claim["spec"] == {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        assert claim["metadata"]["ownerReferences"][0]["name"] == "demo"

    def test_a_retained_claim_has_no_owner(self) -> None:
        cluster = self.build({"deletionPolicy": "Retain", "size": "5Gi", "storageClassName": "fast"})
        assert "ownerReferences" not in cluster.gcs_pvc["metadata"]
        assert cluster.gcs_pvc["spec"]["storageClassName"] == "fast"
        assert cluster.gcs_pvc_retained

    def test_a_users_claim_is_not_made(self) -> None:
        cluster = self.build({"claimName": "mine"})
        assert cluster.gcs_pvc is None
        assert cluster.user_gcs_claim == "mine"


class TestNetworkPolicies:
    SETTINGS = gates(RayClusterNetworkPolicy=True)

    @pytest.mark.parametrize(
        ("mode", "types"),
        [
            (None, ["Ingress", "Egress"]),
            ("DenyAll", ["Ingress", "Egress"]),
            ("DenyAllIngress", ["Ingress"]),
            ("DenyAllEgress", ["Egress"]),
        ],
    )
    def test_modes(self, mode: str | None, types: list[str]) -> None:
        policies = desired(self.SETTINGS, spec={"networkPolicy": {"mode": mode}}).network_policies
        assert [policy["metadata"]["name"] for policy in policies] == ["demo-head", "demo-workers-small"]
        for policy in policies:
            assert policy["spec"]["policyTypes"] == types
            assert ("ingress" in policy["spec"]) is ("Ingress" in types)
            assert ("egress" in policy["spec"]) is ("Egress" in types)

    def test_a_groups_own_rules_replace_those_for_all_workers(self) -> None:
        rule = {"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}
        other = {"from": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]}
        policy = {
            "worker": {"ingressRules": [rule]},
            "workerGroups": [{"groupName": "small", "ingressRules": [other]}],
        }
        head, worker = desired(self.SETTINGS, spec={"networkPolicy": policy}).network_policies
        assert worker["spec"]["ingress"][1:] == [other]
        assert len(head["spec"]["ingress"]) == 1

    @pytest.mark.parametrize(("mode", "rules"), [("K8sJobMode", 2), ("HTTPMode", 1)])
    def test_the_submitter_of_a_ray_job_reaches_the_dashboard(self, mode: str, rules: int) -> None:
        owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "j", "uid": "u", "controller": True}
        metadata = {"labels": {"ray.io/job-submission-mode": mode}, "ownerReferences": [owner]}
        head, worker = desired(self.SETTINGS, metadata=metadata, spec={"networkPolicy": {}}).network_policies
        assert len(head["spec"]["ingress"]) == rules
        assert len(worker["spec"]["ingress"]) == 1

    def test_without_the_gate_there_are_none(self) -> None:
        assert desired(spec={"networkPolicy": {}}).network_policies == ()


class TestCertificates:
    def test_five_objects_in_order(self) -> None:
        cluster = desired(gates(RayClusterMTLS=True), spec={"tlsOptions": {"enabled": True}})
        assert [(tree["kind"], tree["metadata"]["name"]) for tree in cluster.tls_objects] == [
            ("Issuer", "ray-selfsigned-issuer-demo"),
            ("Certificate", "ray-ca-certificate-demo"),
            ("Issuer", "ray-ca-issuer-demo"),
            ("Certificate", "ray-head-cert-demo"),
            ("Certificate", "ray-worker-cert-demo"),
        ]
        assert cluster.tls_objects[1]["spec"]["secretName"] == "demo-ca-secret-11111111"
        assert cluster.tls

    def test_leaf_certificates_name_the_pods_of_their_kind_alone(self) -> None:
        head, worker = build_leaf_certificates(make_cluster(), Settings(), ["10.0.0.9"], ["10.0.0.2", "10.0.0.1"])
        assert head["spec"]["ipAddresses"] == ["10.0.0.9", "127.0.0.1"]
        assert worker["spec"]["ipAddresses"] == ["10.0.0.1", "10.0.0.2", "127.0.0.1"]
        assert head["spec"]["dnsNames"] == ["demo-head-svc.ns.svc.cluster.local", "localhost"]
        assert worker["spec"]["dnsNames"] == ["localhost"]


class TestRedisCleanupJob:
    def test_it_is_the_head_with_one_container_and_one_purpose(self) -> None:
        options = {"redisAddress": "redis:6379", "redisUsername": {"value": "me"}}
        init = {"template": {"spec": {"initContainers": [{"name": "mine"}]}}}
        job = build_redis_cleanup_job(
            make_cluster(head=init, spec={"enableInTreeAutoscaling": True, "gcsFaultToleranceOptions": options}),
            Settings(),
        )
        assert job["metadata"]["name"] == "demo-redis-cleanup"
        assert job["metadata"]["labels"]["ray.io/node-type"] == "redis-cleanup"
        assert job["spec"]["backoffLimit"] == 0
        assert job["spec"]["activeDeadlineSeconds"] == 300
        pod = job["spec"]["template"]
        assert pod["metadata"]["generateName"] == "demo-head-"
        assert "ray.io/kuberay-version" not in pod["metadata"]["annotations"]
        assert pod["spec"]["restartPolicy"] == "Never"
        assert [item["name"] for item in pod["spec"]["initContainers"]] == ["mine"]
        (container,) = pod["spec"]["containers"]
        assert "livenessProbe" not in container
        assert container["resources"]["limits"] == {"cpu": "200m", "memory": "256Mi"}
        assert "username=os.getenv('REDIS_USERNAME', parsed.username), password=" in container["args"][0]
        assert container["env"][-1] == {"name": "RAY_redis_db_connect_wait_milliseconds", "value": "500"}

    def test_r3_11_it_can_be_seen_whatever_the_template_says(self) -> None:
        override = {"template": {"metadata": {"labels": {"app.kubernetes.io/created-by": "argo"}}}}
        job = build_redis_cleanup_job(make_cluster(head=override), Settings())
        selector = parse_selector(kinds_around(Settings())[JOB].label_selector)
        assert selector.matches(job["metadata"]["labels"])
        pod = job["spec"]["template"]["metadata"]
        assert pod["labels"]["app.kubernetes.io/created-by"] == "argo", "the Pod is the user's"

    def test_its_program_is_python(self) -> None:
        job = build_redis_cleanup_job(make_cluster(spec={"gcsFaultToleranceOptions": {}}), Settings())
        command = job["spec"]["template"]["spec"]["containers"][0]["args"][0]
        program = command.split('python -c "')[1].removesuffix('"')
        compile(program, "cleanup", "exec")
        assert "username=" not in program
