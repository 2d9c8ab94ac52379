"""Head and worker Pods: raycluster.md §7 and its tables in §16.5 and §16.6."""

from typing import Any

import pytest

from desired.clusters import UID, desired, env_of, gates
from heliostat.api.settings import Settings
from heliostat.desired.raycluster.model import DesiredCluster
from heliostat.desired.raycluster.pods import stamp_head, stamp_worker

AUTOSCALING = {"enableInTreeAutoscaling": True}


def head_spec(cluster: DesiredCluster) -> dict[str, Any]:
    spec: dict[str, Any] = cluster.head_template["spec"]
    return spec


def worker_spec(cluster: DesiredCluster) -> dict[str, Any]:
    spec: dict[str, Any] = cluster.groups[0].template["spec"]
    return spec


def names(items: list[dict[str, Any]] | None) -> list[str]:
    return [item["name"] for item in items or []]


class TestLabelsAndAnnotations:
    def test_three_labels_cannot_be_overridden_and_the_group_wins_over_the_template(self) -> None:
        template = {
            "metadata": {
                "labels": {
                    "ray.io/cluster": "other",
                    "ray.io/group": "other",
                    "ray.io/node-type": "other",
                    "app.kubernetes.io/name": "mine",
                    "team": "template",
                }
            }
        }
        cluster = desired(worker={"template": template, "labels": {"team": "group"}})
        assert cluster.groups[0].template["metadata"]["labels"] == {
            "ray.io/is-ray-node": "yes",
            "ray.io/cluster": "demo",
            "ray.io/node-type": "worker",
            "ray.io/group": "small",
            "ray.io/identifier": "demo-worker",
            "app.kubernetes.io/name": "mine",
            "app.kubernetes.io/created-by": "kuberay-operator",
            "team": "group",
        }

    def test_operator_wide_defaults_never_override(self) -> None:
        settings = Settings(
            default_pod_labels={"team": "default", "extra": "x"}, default_pod_annotations={"note": "default"}
        )
        template = {"metadata": {"labels": {"team": "mine"}, "annotations": {"note": "mine"}}}
        metadata = desired(settings, head={"template": template}).head_template["metadata"]
        assert metadata["labels"]["team"] == "mine"
        assert metadata["labels"]["extra"] == "x"
        assert metadata["annotations"]["note"] == "mine"

    def test_pods_live_in_the_clusters_namespace_and_belong_to_it(self) -> None:
        template = {"metadata": {"namespace": "elsewhere", "name": "fixed", "finalizers": ["keep/me"]}}
        metadata = desired(worker={"template": template}).groups[0].template["metadata"]
        assert metadata["namespace"] == "ns"
        assert "name" not in metadata
        assert metadata["finalizers"] == ["keep/me"]
        assert metadata["ownerReferences"] == [
            {
                "apiVersion": "ray.io/v1",
                "kind": "RayCluster",
                "name": "demo",
                "uid": UID,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]

    def test_pods_of_a_ray_service_carry_the_serve_label(self) -> None:
        cluster = desired(metadata={"labels": {"ray.io/originated-from-crd": "RayService"}})
        assert cluster.head_template["metadata"]["labels"]["ray.io/serve"] == "false"
        assert cluster.groups[0].template["metadata"]["labels"]["ray.io/serve"] == "true"


class TestStamping:
    def test_names_and_indices_are_stamped_without_touching_the_template(self) -> None:
        group = desired().groups[0]
        pod = stamp_worker(group, "abcde", 3, 1, "small-xyz12")
        assert pod["metadata"]["name"] == "demo-small-worker-abcde"
        assert pod["metadata"]["labels"]["ray.io/worker-group-replica-index"] == "3"
        assert pod["metadata"]["labels"]["ray.io/replica-host-index"] == "1"
        assert pod["metadata"]["labels"]["ray.io/worker-group-replica-name"] == "small-xyz12"
        assert "name" not in group.template["metadata"]
        assert "ray.io/replica-host-index" not in group.template["metadata"]["labels"]

    def test_without_the_indexing_gate_no_index_is_stamped(self) -> None:
        labels = stamp_worker(desired().groups[0], "abcde", None)["metadata"]["labels"]
        assert not [key for key in labels if "index" in key or "replica" in key]

    @pytest.mark.parametrize(
        ("settings", "head", "expected"),
        [
            (Settings(), {}, "demo-head-abcde"),
            (Settings(), {"template": {"metadata": {"name": "mine"}}}, "mine"),
            (Settings(deterministic_head_name=True), {}, "demo-head"),
        ],
    )
    def test_the_heads_name(self, settings: Settings, head: dict[str, Any], expected: str) -> None:
        assert stamp_head(desired(settings, head=head), "abcde")["metadata"]["name"] == expected


class TestEnvironment:
    def test_worker_knows_the_head_and_the_head_itself_does_not(self) -> None:
        cluster = desired(head={"rayStartParams": {"port": "1234"}})
        worker, head = env_of(worker_spec(cluster)["containers"][0]), env_of(head_spec(cluster)["containers"][0])
        assert worker["FQ_RAY_IP"] == "demo-head-svc.ns.svc.cluster.local"
        assert worker["RAY_IP"] == "demo-head-svc"
        assert worker["RAY_ADDRESS"] == "demo-head-svc.ns.svc.cluster.local:1234"
        assert head["RAY_ADDRESS"] == "127.0.0.1:1234"
        assert head["RAY_PORT"] == worker["RAY_PORT"] == "1234"
        assert "FQ_RAY_IP" not in head

    def test_a_users_value_is_kept_where_the_table_says_so(self) -> None:
        users = {"env": [{"name": "RAY_ADDRESS", "value": "mine"}, {"name": "DEFAULTED", "value": "mine"}]}
        settings = Settings(default_container_envs=({"name": "DEFAULTED", "value": "operator"},))
        container = head_spec(desired(settings, head_container=users))["containers"][0]
        assert names(container["env"]).count("RAY_ADDRESS") == 1
        assert env_of(container)["RAY_ADDRESS"] == env_of(container)["DEFAULTED"] == "mine"

    def test_init_containers_of_the_user_learn_the_heads_address(self) -> None:
        init = {"template": {"spec": {"initContainers": [{"name": "mine"}]}}}
        assert env_of(head_spec(desired(head=init))["initContainers"][0])["RAY_IP"] == "demo-head-svc"

    def test_clusters_of_a_ray_service_fail_fast(self) -> None:
        cluster = desired(metadata={"labels": {"ray.io/originated-from-crd": "RayService"}})
        env = env_of(head_spec(cluster)["containers"][0])
        assert env["RAY_SERVE_KV_TIMEOUT_S"] == "5"
        assert env["RAY_USAGE_STATS_EXTRA_TAGS"].endswith(";kuberay_crd=RayService")


class TestWaitForGcs:
    def test_it_comes_last_shares_the_users_environment_and_names_the_address(self) -> None:
        cluster = desired(
            worker={"template": {"spec": {"initContainers": [{"name": "mine"}]}}},
            worker_container={"env": [{"name": "A", "value": "1"}], "imagePullPolicy": "Always"},
        )
        init = worker_spec(cluster)["initContainers"]
        assert names(init) == ["mine", "wait-gcs-ready"]
        assert init[1]["imagePullPolicy"] == "Always"
        assert names(init[1]["env"]) == ["A", "FQ_RAY_IP", "RAY_IP"]
        assert "--address demo-head-svc.ns.svc.cluster.local:6379" in init[1]["args"][0]

    def test_it_can_be_switched_off(self) -> None:
        assert "initContainers" not in worker_spec(desired(Settings(inject_init_container=False)))


class TestVolumes:
    @pytest.mark.parametrize(
        ("params", "resources", "mounts", "expected"),
        [
            ({}, {"limits": {"memory": "1Gi"}}, [], {"medium": "Memory", "sizeLimit": "1Gi"}),
            ({}, {"requests": {"memory": "512Mi"}}, [], {"medium": "Memory", "sizeLimit": "512Mi"}),
            ({}, {}, [], {"medium": "Memory"}),
            ({"plasma-directory": "/dev/shm"}, {}, [], None),
            ({"plasma-directory": ""}, {}, [], None),
            ({}, {}, [{"name": "own", "mountPath": "/dev/shm"}], None),
        ],
    )
    def test_shared_memory(
        self, params: dict[str, str], resources: dict[str, Any], mounts: list[Any], expected: dict[str, str] | None
    ) -> None:
        container = {"resources": resources, "volumeMounts": mounts}
        spec = worker_spec(desired(worker={"rayStartParams": params}, worker_container=container))
        volumes = {volume["name"]: volume.get("emptyDir") for volume in spec.get("volumes", [])}
        assert volumes.get("shared-mem") == expected

    def test_logs_are_shared_with_the_autoscaler(self) -> None:
        spec = head_spec(desired(spec=AUTOSCALING))
        assert names(spec["volumes"]) == ["shared-mem", "ray-logs"]
        assert [names(container["volumeMounts"])[-1] for container in spec["containers"]] == ["ray-logs", "ray-logs"]

    def test_no_log_volume_when_both_containers_bring_their_own_mount(self) -> None:
        mount = [{"name": "mine", "mountPath": "/tmp/ray"}]
        spec = {**AUTOSCALING, "autoscalerOptions": {"volumeMounts": mount}}
        assert "ray-logs" not in names(head_spec(desired(spec=spec, head_container={"volumeMounts": mount}))["volumes"])


class TestProbes:
    RAYLET = "wget --tries 1 -T 2 -q -O- http://localhost:52365/api/local_raylet_healthz | grep success"
    GCS = "wget --tries 1 -T 10 -q -O- http://localhost:8265/api/gcs_healthz | grep success"
    SERVE = "wget --tries 1 -T 10 -q -O- http://localhost:8000/-/healthz | grep success"

    @pytest.mark.parametrize("version", ["2.52.0", "", "nightly", "2", "02.53.0"])
    def test_older_and_unknown_versions_are_asked_by_command(self, version: str) -> None:
        cluster = desired(spec={"rayVersion": version})
        head, worker = head_spec(cluster)["containers"][0], worker_spec(cluster)["containers"][0]
        assert head["livenessProbe"]["exec"]["command"] == ["bash", "-c", f"{self.RAYLET} && {self.GCS}"]
        assert worker["readinessProbe"]["exec"]["command"] == ["bash", "-c", self.RAYLET]
        assert (head["livenessProbe"]["timeoutSeconds"], worker["livenessProbe"]["timeoutSeconds"]) == (5, 2)
        assert (head["livenessProbe"]["failureThreshold"], head["readinessProbe"]["failureThreshold"]) == (120, 10)

    @pytest.mark.parametrize("version", ["2.53.0", "2.53", "v2.53.0", "2.53.0.dev1", "3.0.0"])
    def test_newer_versions_have_one_health_endpoint(self, version: str) -> None:
        cluster = desired(spec={"rayVersion": version})
        probe = head_spec(cluster)["containers"][0]["readinessProbe"]
        assert probe["httpGet"] == {"path": "/api/healthz", "port": 52365}
        assert "exec" not in probe

    @pytest.mark.parametrize(
        ("seconds", "creator", "timing"),
        [
            (0, "RayCluster", (10, 5, 10)),
            (1, "RayCluster", (1, 1, 50)),
            (2, "RayCluster", (2, 2, 25)),
            (7, "RayCluster", (7, 7, 7)),
            (0, "RayService", (10, 5, 1)),
            (1, "RayService", (1, 1, 5)),
            (7, "RayService", (7, 7, 1)),
        ],
    )
    def test_readiness_may_be_asked_for_sooner_with_the_same_patience(
        self, seconds: int, creator: str, timing: tuple[int, int, int]
    ) -> None:
        labels = {"ray.io/originated-from-crd": creator}
        cluster = desired(Settings(ready_probe_seconds=seconds), metadata={"labels": labels})
        ray = worker_spec(cluster)["containers"][0]
        fields = ("initialDelaySeconds", "periodSeconds", "failureThreshold")
        assert tuple(ray["readinessProbe"][field] for field in fields) == timing
        assert tuple(ray["livenessProbe"][field] for field in fields) == (30, 5, 120)

    def test_the_probes_of_the_user_are_never_touched(self) -> None:
        own = {"tcpSocket": {"port": 1}, "initialDelaySeconds": 99}
        cluster = desired(Settings(ready_probe_seconds=1), head_container={"readinessProbe": own})
        assert head_spec(cluster)["containers"][0]["readinessProbe"] == own

    @pytest.mark.parametrize("version", ["2.52.0", "2.53.0"])
    def test_a_serving_worker_is_ready_only_with_its_proxy(self, version: str) -> None:
        cluster = desired(
            metadata={"labels": {"ray.io/originated-from-crd": "RayService"}}, spec={"rayVersion": version}
        )
        probe = worker_spec(cluster)["containers"][0]["readinessProbe"]
        assert probe["exec"]["command"] == ["bash", "-c", f"{self.RAYLET} && {self.SERVE}"]
        assert probe["failureThreshold"] == 1
        assert "httpGet" not in probe

    @pytest.mark.parametrize("no_number", ["no number", "8_266", " 8266", "９", str(2**31)])
    def test_ports_follow_the_parameters_and_a_users_probe_stays(self, no_number: str) -> None:
        params = {"dashboard-agent-listen-port": "8365", "dashboard-port": no_number}
        own = {"livenessProbe": {"tcpSocket": {"port": 1}}}
        container = head_spec(desired(head={"rayStartParams": params}, head_container=own))["containers"][0]
        assert container["livenessProbe"] == {"tcpSocket": {"port": 1}}
        command = container["readinessProbe"]["exec"]["command"][2]
        assert "localhost:8365/" in command
        assert "localhost:8265/" in command

    def test_probes_can_be_switched_off(self) -> None:
        assert "livenessProbe" not in head_spec(desired(Settings(inject_probes=False)))["containers"][0]


class TestAutoscaler:
    @pytest.mark.parametrize(
        ("version", "variable", "restart_policy"),
        [(None, None, None), ("v1", "false", None), ("v2", "true", "Never")],
    )
    def test_the_version_decides_variable_and_restart_policy(
        self, version: str | None, variable: str | None, restart_policy: str | None
    ) -> None:
        options = {"autoscalerOptions": {"version": version}} if version else {}
        cluster = desired(spec={**AUTOSCALING, **options})
        assert env_of(head_spec(cluster)["containers"][0]).get("RAY_enable_autoscaler_v2") == variable
        assert head_spec(cluster).get("restartPolicy") == restart_policy
        assert worker_spec(cluster).get("restartPolicy") == restart_policy

    def test_options_replace_or_append(self) -> None:
        options = {
            "image": "mine",
            "imagePullPolicy": "Always",
            "resources": {"limits": {"cpu": "1"}},
            "securityContext": {"runAsUser": 1},
            "command": ["my"],
            "args": ["way"],
            "env": [{"name": "X", "value": "1"}],
            "envFrom": [{"configMapRef": {"name": "c"}}],
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        }
        container = head_spec(desired(spec={**AUTOSCALING, "autoscalerOptions": options}))["containers"][1]
        assert {key: container[key] for key in ("image", "command", "args", "resources")} == {
            "image": "mine", "command": ["my"], "args": ["way"], "resources": {"limits": {"cpu": "1"}},
        }  # fmt: skip
        assert names(container["env"])[-1] == "X"
        assert "KUBERAY_GEN_AUTOSCALER_START_CMD" in names(container["env"])
        assert names(container["volumeMounts"]) == ["v", "ray-logs"]

    @pytest.mark.parametrize(
        ("template", "autoscaling", "expected"),
        [({}, True, "demo"), ({}, False, None), ({"spec": {"serviceAccountName": "sa"}}, True, "sa")],
    )
    def test_the_service_account(self, template: dict[str, Any], autoscaling: bool, expected: str | None) -> None:
        cluster = desired(spec={"enableInTreeAutoscaling": autoscaling}, head={"template": template})
        assert head_spec(cluster).get("serviceAccountName") == expected


class TestGcsFaultTolerance:
    def test_off_says_so_on_the_head(self) -> None:
        cluster = desired()
        assert cluster.head_template["metadata"]["annotations"]["ray.io/ft-enabled"] == "false"
        assert "ray.io/ft-enabled" not in cluster.groups[0].template["metadata"]["annotations"]

    def test_the_annotation_enables_redis_with_the_uid_as_namespace(self) -> None:
        cluster = desired(
            metadata={"annotations": {"ray.io/ft-enabled": "TRUE"}}, head={"rayStartParams": {"redis-password": "pw"}}
        )
        annotations = cluster.head_template["metadata"]["annotations"]
        env = env_of(head_spec(cluster)["containers"][0])
        assert annotations["ray.io/ft-enabled"] == "true"
        assert annotations["ray.io/external-storage-namespace"] == UID
        assert env["RAY_external_storage_namespace"] == UID
        assert env["REDIS_PASSWORD"] == "pw"
        assert env_of(worker_spec(cluster)["containers"][0])["RAY_gcs_rpc_server_reconnect_timeout_s"] == "600"

    def test_options_bring_address_credentials_and_namespace(self) -> None:
        secret = {"secretKeyRef": {"name": "redis", "key": "password"}}
        options = {
            "redisAddress": "redis:6379",
            "redisUsername": {"value": "me"},
            "redisPassword": {"valueFrom": secret},
            "externalStorageNamespace": "corner",
        }
        cluster = desired(spec={"gcsFaultToleranceOptions": options})
        env = env_of(head_spec(cluster)["containers"][0])
        assert env["RAY_REDIS_ADDRESS"] == "redis:6379"
        assert env["REDIS_USERNAME"] == "me"
        assert env["REDIS_PASSWORD"] == secret
        assert env["RAY_external_storage_namespace"] == "corner"
        assert (
            " --redis-password=$REDIS_PASSWORD  --redis-username=$REDIS_USERNAME " in env["KUBERAY_GEN_RAY_START_CMD"]
        )

    @pytest.mark.parametrize(
        ("storage", "claim", "sub_path"),
        [
            ({}, "demo-gcs-pvc", None),
            ({"claimName": "my-pvc"}, "my-pvc", None),
            ({"subPath": "a/b"}, "demo-gcs-pvc", "a/b"),
        ],
    )
    def test_embedded_storage_mounts_a_claim_on_the_head_alone(
        self, storage: dict[str, str], claim: str, sub_path: str | None
    ) -> None:
        options = {"gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": storage}}
        cluster = desired(gates(GCSFaultToleranceEmbeddedStorage=True), spec=options)
        spec = head_spec(cluster)
        assert {"name": "gcs-storage", "persistentVolumeClaim": {"claimName": claim}} in spec["volumes"]
        mount = next(item for item in spec["containers"][0]["volumeMounts"] if item["name"] == "gcs-storage")
        assert mount.get("subPath") == sub_path
        assert env_of(spec["containers"][0])["RAY_gcs_storage"] == "rocksdb"
        assert "ray.io/external-storage-namespace" not in cluster.head_template["metadata"]["annotations"]
        assert "gcs-storage" not in names(worker_spec(cluster)["volumes"])


class TestAuthentication:
    def test_token_reaches_ray_autoscaler_and_init_container(self) -> None:
        cluster = desired(spec={**AUTOSCALING, "authOptions": {"mode": "token"}, "rayVersion": "2.55.0"})
        reference = {"secretKeyRef": {"name": "demo", "key": "auth_token"}}
        for container in [*head_spec(cluster)["containers"], *worker_spec(cluster)["initContainers"]]:
            assert env_of(container)["RAY_AUTH_TOKEN"] == reference

    def test_kubernetes_tokens_are_projected(self) -> None:
        options = {"mode": "token", "enableK8sTokenAuth": True}
        spec = worker_spec(desired(spec={"authOptions": options, "rayVersion": "2.55.0"}))
        assert {
            "name": "ray-token",
            "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]},
        } in spec["volumes"]
        for container in (spec["containers"][0], spec["initContainers"][0]):
            assert env_of(container)["RAY_ENABLE_K8S_TOKEN_AUTH"] == "true"
            assert "RAY_AUTH_TOKEN" not in env_of(container)
            assert "ray-token" in names(container["volumeMounts"])


class TestTls:
    def test_certificates_are_mounted_and_waited_for(self) -> None:
        cluster = desired(gates(RayClusterMTLS=True), spec={**AUTOSCALING, "tlsOptions": {"enabled": True}})
        head, worker = head_spec(cluster), worker_spec(cluster)
        assert names(worker["initContainers"]) == ["wait-for-tls-ip-san", "wait-gcs-ready"]
        for container in [*head["containers"], worker["containers"][0], worker["initContainers"][1]]:
            assert env_of(container)["RAY_USE_TLS"] == "1"
            assert "ray-tls" in names(container["volumeMounts"])
        assert {"name": "ray-tls", "secret": {"secretName": "ray-worker-secret-demo"}} in worker["volumes"]
        assert "RAY_USE_TLS" not in env_of(worker["initContainers"][0])

    def test_without_the_gate_nothing_is_added(self) -> None:
        assert "ray-tls" not in names(head_spec(desired(spec={"tlsOptions": {"enabled": True}}))["volumes"])


class TestCollectorAndSidecars:
    def test_the_collector_runs_on_every_node_and_only_the_head_knows_the_dashboard(self) -> None:
        collector = {"image": "collector:1", "env": [{"name": "STORAGE_BACKEND", "value": "local"}]}
        cluster = desired(
            gates(RayClusterHistoryServer=True),
            metadata={"labels": {"ray.io/originated-from-crd": "RayJob", "ray.io/originated-from-cr-name": "j"}},
            spec={"historyServerOptions": {"collectorOptions": collector}},
        )
        head, worker = head_spec(cluster)["containers"], worker_spec(cluster)["containers"]
        assert names(head) == ["ray-head", "ray-history-collector"]
        assert env_of(head[1])["RAY_DASHBOARD_ADDRESS"] == "http://localhost:8265"
        assert env_of(head[1])["OWNER_NAME"] == "j"
        assert "RAY_DASHBOARD_ADDRESS" not in env_of(worker[1])
        assert env_of(worker[0])["RAY_enable_ray_event"] == "true"
        assert "ray-logs" in names(worker[1]["volumeMounts"])

    def test_operator_wide_sidecars_come_last(self) -> None:
        settings = Settings(head_sidecar_containers=({"name": "h"},), worker_sidecar_containers=({"name": "w"},))
        cluster = desired(settings, spec=AUTOSCALING)
        assert names(head_spec(cluster)["containers"]) == ["ray-head", "autoscaler", "h"]
        assert names(worker_spec(cluster)["containers"]) == ["ray-worker", "w"]


def test_a_metrics_port_is_added_unless_one_has_that_name() -> None:
    assert head_spec(desired())["containers"][0]["ports"] == [{"name": "metrics", "containerPort": 8080}]
    own = [{"name": "metrics", "containerPort": 8081}]
    ports = head_spec(desired(head_container={"ports": own}))["containers"][0]["ports"]
    assert [(port["name"], port["containerPort"]) for port in ports] == [("metrics", 8081)]


def test_building_never_changes_the_cluster() -> None:
    from desired.clusters import make_cluster
    from heliostat.desired.raycluster.cluster import build_desired

    settings = gates(RayClusterMTLS=True, RayClusterHistoryServer=True)
    options = {"collectorOptions": {"image": "c"}}
    parts: dict[str, Any] = {"spec": {**AUTOSCALING, "tlsOptions": {"enabled": True}, "historyServerOptions": options}}
    cluster = make_cluster(**parts)
    build_desired(cluster, settings)
    assert cluster == make_cluster(**parts)
