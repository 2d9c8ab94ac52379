"""mTLS inside Pods: the certificate's mount, Ray's variables, the wait for an address in it (raycluster.md §11.3)."""

from heliostat.api.markers import JsonObject
from heliostat.desired import labels
from heliostat.desired.containers import (
    add_mount,
    add_volume_once,
    append_env_if_absent,
    copy_if_set,
    env,
    field_env,
    find_container,
    fixed_resources,
)
from heliostat.desired.names import head_tls_secret, worker_tls_secret
from heliostat.desired.raycluster.context import BuildContext

WAIT_FOR_ADDRESS = "wait-for-tls-ip-san"
_VOLUME = "ray-tls"
_DIRECTORY = "/etc/ray/tls"
_ENV = (
    env("RAY_USE_TLS", "1"),
    env("RAY_TLS_SERVER_CERT", f"{_DIRECTORY}/tls.crt"),
    env("RAY_TLS_SERVER_KEY", f"{_DIRECTORY}/tls.key"),
    env("RAY_TLS_CA_CERT", f"{_DIRECTORY}/ca.crt"),
)

# Ray refuses a peer whose certificate does not name its address, so a Pod starts only once its own is in.
_WAIT_SCRIPT = f"""\
CERT={_DIRECTORY}/tls.crt
[ -n "${{POD_IP}}" ] || POD_IP=$(hostname -i | cut -d' ' -f1)
if ! command -v openssl >/dev/null 2>&1; then
  echo "The image has no openssl binary, which is needed to look into ${{CERT}}." >&2
  exit 1
fi
until openssl x509 -in "${{CERT}}" -noout -text 2>/dev/null | grep -qE "IP Address:${{POD_IP}}([^0-9.]|$)"; do
  echo "Waiting until ${{CERT}} names the address ${{POD_IP}}."
  sleep 5
done
"""


def use_tls(container: JsonObject) -> None:
    append_env_if_absent(container, *_ENV)
    _mount_certificate(container)


def add_tls_to_pod(pod_spec: JsonObject, context: BuildContext, node_type: str, *init_containers: str) -> None:
    """The Ray container, the named init containers and the Pod itself. The autoscaler asks for itself."""
    if not context.is_tls:
        return
    secret = head_tls_secret(context.name) if node_type == labels.HEAD else worker_tls_secret(context.name)
    add_volume_once(pod_spec, {"name": _VOLUME, "secret": {"secretName": secret}})
    ray = pod_spec["containers"][0]
    use_tls(ray)
    for name in init_containers:
        container = find_container(pod_spec.get("initContainers"), name)
        if container is not None:
            use_tls(container)
    if find_container(pod_spec.get("initContainers"), WAIT_FOR_ADDRESS) is None:
        pod_spec["initContainers"] = [_build_wait(ray), *(pod_spec.get("initContainers") or [])]


def _build_wait(ray: JsonObject) -> JsonObject:
    container: JsonObject = {"name": WAIT_FOR_ADDRESS, "command": ["sh", "-c"], "args": [_WAIT_SCRIPT]}
    copy_if_set(ray, container, "image", "imagePullPolicy", "securityContext")
    container["env"] = [field_env("POD_IP", "status.podIP")]
    container["resources"] = fixed_resources("50m", "64Mi")
    _mount_certificate(container)
    return container


def _mount_certificate(container: JsonObject) -> None:
    add_mount(container, {"name": _VOLUME, "mountPath": _DIRECTORY, "readOnly": True})
