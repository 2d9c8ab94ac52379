"""The init container that keeps a worker from starting before the head answers (raycluster.md §7.9)."""

from heliostat.api.markers import JsonObject
from heliostat.desired.containers import copy_if_set, fixed_resources
from heliostat.desired.raycluster.context import BuildContext
from heliostat.desired.raycluster.start_command import bash_command

WAIT_GCS_CONTAINER = "wait-gcs-ready"

_TROUBLESHOOTING = "https://docs.ray.io/en/master/cluster/kubernetes/troubleshooting.html"


def build_wait_gcs(ray: JsonObject, context: BuildContext) -> JsonObject:
    """``ray`` is the worker's Ray container as the user wrote it: its environment and mounts are shared."""
    container: JsonObject = {
        "name": WAIT_GCS_CONTAINER,
        "command": bash_command(context),
        "args": [_script(f"{context.fqdn}:{context.gcs_port}")],
        "resources": fixed_resources("200m", "256Mi"),
    }
    copy_if_set(ray, container, "image", "imagePullPolicy", "securityContext")
    for key in ("env", "volumeMounts"):
        if ray.get(key):
            container[key] = list(ray[key])
    return container


def _script(address: str) -> str:
    check = f"ray health-check --address {address}"
    return f"""\
SECONDS=0
while true; do
  if (( SECONDS <= 120 )); then
    if {check} > /dev/null 2>&1; then
      echo "GCS is ready."
      break
    fi
    echo "$SECONDS seconds elapsed: Waiting for GCS to be ready."
  else
    if {check}; then
      echo "GCS is ready. Any error messages above can be safely ignored."
      break
    fi
    echo "$SECONDS seconds elapsed: Still waiting for GCS to be ready. For help see {_TROUBLESHOOTING}"
  fi
  sleep 5
done
"""
