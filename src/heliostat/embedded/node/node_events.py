"""The events that a node tells about its Pods, in the kubelet's reasons and words. Pure."""

from heliostat.embedded.node.probing.probes import ProbeKind, ProbeResult
from heliostat.kube.plan import Event

_MOST_NOTE = 1024


def pulled(image: str) -> Event:
    return Event("Normal", "Pulled", "Pulling", f'Container image "{image}" already present on machine')


def pulling(image: str) -> Event:
    return Event("Normal", "Pulling", "Pulling", f'Pulling image "{image}"')


def pulled_now(image: str, seconds: float) -> Event:
    return Event("Normal", "Pulled", "Pulling", f'Successfully pulled image "{image}" in {seconds:.1f}s')


def created(container: str) -> Event:
    return Event("Normal", "Created", "Creating", f"Created container: {container}")


def started(container: str) -> Event:
    return Event("Normal", "Started", "Starting", f"Started container {container}")


def not_pulled(why: str) -> Event:
    return Event("Warning", "Failed", "Pulling", _cut(f"Failed to pull image: {why}"))


def not_started(why: str) -> Event:
    return Event("Warning", "Failed", "Starting", _cut(f"Error: {why}"))


def not_mounted(why: str) -> Event:
    return Event("Warning", "FailedMount", "Mounting", _cut(f"MountVolume.SetUp failed: {why}"))


def no_sandbox(why: str) -> Event:
    return Event("Warning", "FailedCreatePodSandBox", "Creating", _cut(f"Failed to create pod sandbox: {why}"))


def killing(note: str) -> Event:
    return Event("Normal", "Killing", "Stopping", note)


def backing_off(container: str, pod: str) -> Event:
    return Event("Warning", "BackOff", "Restarting", f"Back-off restarting failed container {container} in pod {pod}")


def unhealthy(kind: ProbeKind, verdict: ProbeResult, output: str) -> Event:
    if verdict is ProbeResult.UNKNOWN:
        note = f"{kind} probe errored and resulted in {verdict} state: {output}"
    else:
        note = f"{kind} probe failed: {output}"
    return Event("Warning", "Unhealthy", "Probing", _cut(note))


def hook_failed(hook: str, why: str) -> Event:
    """``hook`` is PostStart or PreStop."""
    return Event("Warning", f"Failed{hook}Hook", "Hooking", _cut(f"{hook}Hook failed: {why}"))


def _cut(note: str) -> str:
    return note if len(note) <= _MOST_NOTE else f"{note[: _MOST_NOTE - 1]}…"
