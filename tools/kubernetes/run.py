"""Run a real Kubernetes control plane on loopback, for as long as a ``with`` block lasts.

``with ControlPlane.started() as cluster:`` gives its address, its authority, an admin's token and a kubeconfig. Free
ports, a directory of its own, keys and certificates made for this run; at the end every process is ended and the
directory is gone. ``python -m tools.kubernetes.run [PART ...]`` does it from a shell until it is interrupted. Binaries
come from ``build.py``, so those of KUBEBUILDER_ASSETS go before our own. Fast rather than durable: etcd does not sync
its files.
"""

import argparse
import json
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import Struct
from tools.kubernetes.build import KUBERNETES, cache_directory, provide
from tools.kubernetes.generated import BuildError

from heliostat.embedded.access.certificates import Credential, build_authority, build_server_certificate
from heliostat.embedded.access.private_keys import new_private_key, read_private_key

SERVICE_RANGE = "10.96.0.0/12"
READY_SECONDS = 120.0
END_SECONDS = 10.0
CONTROLLERS = ("kube-controller-manager", "kube-scheduler", "kwok")


class StartError(Exception):
    """A process of the control plane ended or did not become ready; the text has the end of its log."""


class ControlPlane(Struct, frozen=True):
    """A running control plane and how to get in as an administrator."""

    url: str
    etcd_url: str
    token: str
    authority_file: Path
    kubeconfig: Path
    directory: Path

    @staticmethod
    def started(controllers: Sequence[str] = (), *, flags: Sequence[str] = (), version: str = KUBERNETES) -> "_Running":
        """etcd and kube-apiserver, and those of CONTROLLERS that are named; ``flags`` go to kube-apiserver."""
        return _Running(tuple(controllers), tuple(flags), version)


class _Running:
    """The context manager: whatever it started, it ends."""

    def __init__(self, controllers: tuple[str, ...], flags: tuple[str, ...], version: str) -> None:
        self._version = version
        self._controllers = controllers
        self._flags = flags
        self._stack = ExitStack()

    def __enter__(self) -> ControlPlane:
        with ExitStack() as stack:
            directory = Path(stack.enter_context(TemporaryDirectory(prefix="heliostat-kubernetes-")))
            cluster = _prepare(directory)
            stack.enter_context(_process("etcd", _etcd_arguments(cluster), directory, self._version))
            apiserver = [*_apiserver_arguments(cluster), *self._flags]
            process = stack.enter_context(_process("kube-apiserver", apiserver, directory, self._version))
            _wait_ready(cluster, process)
            for part in self._controllers:
                given = _controller_arguments(part, cluster)
                controller = stack.enter_context(_process(part, given, directory, self._version))
                _wait_working(part, cluster, controller)
            self._stack = stack.pop_all()
        return cluster

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _prepare(directory: Path) -> ControlPlane:
    """Keys, certificates, a token and a kubeconfig."""
    directory.chmod(0o700)
    now = time.time()
    authority = build_authority(now)
    _write_credential(directory, "server", build_server_certificate(authority, now))
    (directory / "authority.crt").write_text(authority.certificate)
    _write_account_keys(directory)
    token = token_hex(16)
    (directory / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')
    api_port, etcd_port = _free_ports(2)
    cluster = ControlPlane(
        url=f"https://127.0.0.1:{api_port}",
        etcd_url=f"http://127.0.0.1:{etcd_port}",
        token=token,
        authority_file=directory / "authority.crt",
        kubeconfig=directory / "kubeconfig",
        directory=directory,
    )
    cluster.kubeconfig.write_text(json.dumps(_build_kubeconfig(cluster)))
    return cluster


def _write_account_keys(directory: Path) -> None:
    """What service account tokens are signed and verified with."""
    key = new_private_key()
    public = read_private_key(key).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (directory / "accounts.key").write_text(key.reveal())
    (directory / "accounts.pub").write_bytes(public)


def _write_credential(directory: Path, name: str, credential: Credential) -> None:
    (directory / f"{name}.crt").write_text(credential.certificate)
    (directory / f"{name}.key").write_text(credential.key.reveal())


def _build_kubeconfig(cluster: ControlPlane) -> dict[str, object]:
    authority = str(cluster.authority_file)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "real", "cluster": {"server": cluster.url, "certificate-authority": authority}}],
        "users": [{"name": "admin", "user": {"token": cluster.token}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
        "current-context": "real",
    }


def _free_ports(count: int) -> list[int]:
    """All are held until the last is found, so they differ."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def _etcd_arguments(cluster: ControlPlane) -> list[str]:
    peer = f"http://127.0.0.1:{_free_ports(1)[0]}"
    return [
        f"--data-dir={cluster.directory / 'etcd'}",
        f"--listen-client-urls={cluster.etcd_url}",
        f"--advertise-client-urls={cluster.etcd_url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
    ]


def _apiserver_arguments(cluster: ControlPlane) -> list[str]:
    files = cluster.directory
    return [
        f"--etcd-servers={cluster.etcd_url}",
        f"--secure-port={cluster.url.rpartition(':')[2]}",
        "--bind-address=127.0.0.1",
        "--advertise-address=10.0.0.1",  # one that Endpoints accept: loopback is not
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={files / 'server.crt'}",
        f"--tls-private-key-file={files / 'server.key'}",
        f"--client-ca-file={cluster.authority_file}",
        f"--token-auth-file={files / 'tokens.csv'}",
        f"--service-account-key-file={files / 'accounts.pub'}",
        f"--service-account-signing-key-file={files / 'accounts.key'}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        f"--cert-dir={files}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        "--profiling=false",
    ]


def _controller_arguments(part: str, cluster: ControlPlane) -> list[str]:
    access = f"--kubeconfig={cluster.kubeconfig}"
    if part == "kwok":
        return [access, "--manage-all-nodes=true", f"--config={_stages_file(cluster)}"]
    common = [access, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=2000"]
    if part == "kube-scheduler":
        return common
    keys = f"--service-account-private-key-file={cluster.directory / 'accounts.key'}"
    return [*common, keys, f"--root-ca-file={cluster.authority_file}", "--node-monitor-grace-period=3600s"]


def _stages_file(cluster: ControlPlane) -> Path:
    """What Pods and Nodes do on simulated nodes; a kwok that we did not build does what it has built in."""
    built = cache_directory() / "stages.yaml"
    if built.exists():
        return built
    nothing = cluster.directory / "stages.yaml"
    nothing.touch()
    return nothing


@contextmanager
def _process(part: str, arguments: Sequence[str], directory: Path, version: str) -> Iterator[subprocess.Popen[bytes]]:
    with (directory / f"{part}.log").open("wb") as log:
        process = subprocess.Popen(
            [str(provide(part, version)), *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=directory
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_ready(cluster: ControlPlane, process: subprocess.Popen[bytes]) -> None:
    _wait_answer(f"{cluster.url}/readyz", "kube-apiserver", cluster, process)


def _wait_working(part: str, cluster: ControlPlane, process: subprocess.Popen[bytes]) -> None:
    """The controller manager works when namespaces have accounts; of the others nothing shows, but they are there."""
    account = f"{cluster.url}/api/v1/namespaces/default/serviceaccounts/default"
    path = account if part == "kube-controller-manager" else f"{cluster.url}/readyz"
    _wait_answer(path, part, cluster, process)


def _wait_answer(url: str, part: str, cluster: ControlPlane, process: subprocess.Popen[bytes]) -> None:
    context = ssl.create_default_context(cafile=cluster.authority_file)
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {cluster.token}"})  # noqa: S310 - our own
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(request, timeout=5, context=context):  # noqa: S310 - our own
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    log = (cluster.directory / f"{part}.log").read_text(errors="replace")
    raise StartError(f"{part} did not become ready; its log ends with:\n{log[-3000:]}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run a real Kubernetes control plane until interrupted.")
    parser.add_argument(
        "controllers", nargs="*", metavar="PART", help=f"besides etcd and kube-apiserver: {CONTROLLERS}"
    )
    chosen = parser.parse_args(arguments).controllers
    try:
        with ControlPlane.started(chosen) as cluster:
            print(f"export KUBECONFIG={cluster.kubeconfig}", flush=True)
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
    except (BuildError, StartError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    sys.exit(main())
