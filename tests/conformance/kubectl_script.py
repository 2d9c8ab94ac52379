"""What people type: a script of kubectl commands, its output and exit codes, on any server with a kubeconfig.

The commands run one after the other in a namespace of their own; ``Start`` leaves one running (a watch) until ``Stop``.
Output is compared after masking what differs from run to run and after folding spaces, because column widths follow
from what was masked. Of ``explain`` only the structure is compared: descriptions are prose.
"""

import difflib
import gzip
import os
import re
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import msgspec
import yaml
from msgspec import Struct

from conformance import objects
from conformance.custom_kinds import WIDGETS
from conformance.masking import INTERNAL_DIFF
from conformance.model import Json
from conformance.recording import RECORDED

NAMESPACE = "script"
SECONDS = 60.0


class Run(Struct, frozen=True):
    """``kubectl ARGUMENTS``, with this on its standard input."""

    arguments: str
    stdin: str = ""


class Start(Struct, frozen=True):
    """Leave it running while the next commands run, which begin once it has said this.

    A watch goes on from the list that it has shown, so nothing that happens after its first line is missed.
    """

    arguments: str
    until: str


class Stop(Struct, frozen=True):
    """Interrupt what was started once it has said this, too; its output is this step's."""

    until: str


Step: TypeAlias = Run | Start | Stop


class Outcome(Struct, frozen=True):
    command: str
    code: int
    stdout: list[str]
    stderr: list[str]


def _manifest(*trees: Json) -> str:
    return yaml.safe_dump_all(trees, sort_keys=False)


def _here(tree: Json) -> Json:
    return msgspec.json.decode(msgspec.json.encode(tree).replace(b"${ns}", NAMESPACE.encode()))


_WEB = _manifest(objects.workload("Deployment", "web", {"replicas": 2}), objects.service("web"))
_WEB_CHANGED = _WEB.replace("replicas: 2", "replicas: 3").replace("app:1", "app:2")
_CONFIG = _manifest(objects.configmap("settings", {"colour": "red", "size": "3"}, labels={"app": "web"}))
_CONFIG_CHANGED = _CONFIG.replace("red", "blue")
_POD = _manifest(objects.pod("lone", labels={"app": "lone"}))
_WIDGET = _manifest(objects.widget("gear", {"size": 4, "mode": "Fast"}))
_BROKEN = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: bad\ndata:\n  key: [not, text]\n"
_UNKNOWN = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\nwrong: field\n"
_EVENT = _manifest(_here(objects.event("lone.1")))

SCRIPT: tuple[Step, ...] = (
    Run("apply -f -", _manifest(objects.namespace(NAMESPACE))),
    Run("create namespace script-two"),
    Run("api-versions"),
    Run("api-resources --sort-by=name"),
    Run("api-resources --api-group=apps -o name"),
    Run("apply -f -", _CONFIG),
    Run("apply -f -", _CONFIG),
    Run("diff -f -", _CONFIG),
    Run("diff -f -", _CONFIG_CHANGED),
    Run("apply -f - --dry-run=server", _CONFIG_CHANGED),
    Run("apply -f -", _CONFIG_CHANGED),
    Run("get configmap settings -o yaml"),
    Run("get configmap settings -o json"),
    Run("get configmap settings -o jsonpath={.data.colour}"),
    Run("get configmap settings -o custom-columns=NAME:.metadata.name,COLOUR:.data.colour"),
    Run("get configmap settings -o go-template={{.data.size}}"),
    Run("get configmaps"),
    Run("get configmaps -A -l app=web"),
    Run("get configmap missing"),
    Run("get nothing"),
    Run("apply -f -", _WEB),
    Run("get deployments,services"),
    Run("get deployment web -o wide"),
    Run("get deploy web -o name"),
    Run("apply -f - --server-side", _WEB_CHANGED),
    Run("apply -f - --server-side --force-conflicts", _WEB_CHANGED),
    Run("diff -f - --server-side --force-conflicts", _WEB),
    Run("get deployment web -o yaml --show-managed-fields=false"),
    Run("scale deployment web --replicas=5"),
    Run("scale deployment web --current-replicas=1 --replicas=2"),
    Run("set image deployment/web main=example.com/app:3"),
    Run("rollout history deployment/web"),
    Run("rollout pause deployment/web"),
    Run("describe deployment web"),
    Run("describe service web"),
    Run("expose deployment web --name=web2 --port=8080"),
    Run("autoscale deployment web --min=1 --max=3"),
    Run("get hpa"),
    Run("apply -f -", _POD),
    Run("get pods"),
    Run("get pods -o wide"),
    Run("get pod lone -o yaml"),
    Run("describe pod lone"),
    Start("get pods --watch --output-watch-events", until=r"ADDED +lone"),
    Run("label pod lone tier=back"),
    Run("label pod lone tier=front"),
    Run("label pod lone tier=front --overwrite"),
    Run("annotate pod lone note=hello"),
    Run("run shell --image=busybox --restart=Never -- sleep 5"),
    Run("delete pod shell --now"),
    Stop(until=r"DELETED +shell"),
    Run('patch pod lone --type=strategic -p {"spec":{"activeDeadlineSeconds":60}}'),
    Run('patch pod lone --type=merge -p {"metadata":{"labels":{"tier":null}}}'),
    Run('patch pod lone --type=json -p [{"op":"add","path":"/metadata/labels/via","value":"json"}]'),
    Run('patch pod lone --type=merge -p {"spec":{"restartPolicy":"Never"}}'),
    Run('patch pod lone --subresource=status --type=merge -p {"status":{"phase":"Running"}}'),
    Run("get pod lone --show-labels"),
    Run("wait pod/lone --for=jsonpath={.status.phase}=Running --timeout=5s"),
    Run("wait pod/lone --for=condition=Ready --timeout=1s"),
    Run("get pods --field-selector=status.phase=Running -o name"),
    Run("create -f -", _EVENT),
    Run("events"),
    Run("get events"),
    Run("describe pod lone"),
    Run("create secret generic login --from-literal=user=ada"),
    Run("get secret login -o yaml"),
    Run("describe secret login"),
    Run("create configmap made --from-literal=a=b --dry-run=server -o yaml"),
    Run("create configmap made --from-literal=a=b"),
    Run("create configmap made --from-literal=a=b"),
    Run("replace -f -", _manifest(objects.configmap("made", {"a": "c"}))),
    Run("create job once --image=busybox -- true"),
    Run("create cronjob often --image=busybox --schedule=*/5\u00a0*\u00a0*\u00a0*\u00a0* -- true"),
    Run("get jobs,cronjobs"),
    Run("create role reader --verb=get,list --resource=pods,deployments.apps"),
    Run("create rolebinding readers --role=reader --user=ada"),
    Run("describe role reader"),
    Run("get roles,rolebindings -o wide"),
    Run("auth can-i create pods"),
    Run("auth can-i list pods --as=ada"),
    Run("auth can-i delete pods --as=ada"),
    Run("get pods --as=eve"),
    Run("auth whoami -o jsonpath={.status.userInfo.groups}"),
    Run("create quota few --hard=pods=10"),
    Run("get quota few -o jsonpath={.spec.hard.pods}"),
    Run("create serviceaccount robot"),
    Run("get serviceaccounts"),
    Run("apply -f -", _manifest(WIDGETS)),
    Run("wait crd/widgets.conformance.dev --for=condition=Established --timeout=10s"),
    Run("get crd widgets.conformance.dev -o jsonpath={.status.acceptedNames.kind}"),
    Run("apply -f -", _WIDGET),
    Run("get widgets"),
    Run("get wd -o wide"),
    Run("get widget gear -o yaml"),
    Run("scale widget gear --replicas=3"),
    Run("apply -f -", _WIDGET.replace("size: 4", "size: 400")),
    Run('patch widget gear --type=merge -p {"spec":{"size":1}}'),
    Run("explain widgets.spec"),
    Run("explain pod.spec.containers"),
    Run("explain deployment --recursive --api-version=apps/v1"),
    Run("explain pod.spec.nothing"),
    Run("apply -f -", _BROKEN),
    Run("apply -f -", _UNKNOWN),
    Run("apply -f - --validate=false", _UNKNOWN),
    Run("apply -f - --server-side --validate=warn", _UNKNOWN),
    Run("create -f -", _manifest(objects.pod("Bad_Name"))),
    Run(f"get --raw /api/v1/namespaces/{NAMESPACE}/configmaps/settings"),
    Run("get --raw /healthz"),
    Run("get --raw /apis/apps/v9"),
    Run("get all"),
    Run("create token robot --duration=5s"),
    Run("cluster-info dump --namespaces=nowhere -o name"),
    Run("delete configmap made settings"),
    Run("delete configmap made"),
    Run("delete configmap made --ignore-not-found"),
    Run("delete pod lone --grace-period=0 --force"),
    Run("delete deployments,services -l app=web"),
    Run("delete deployment web --cascade=orphan --wait=false"),
    Run("delete widgets --all"),
    Run("get widgets"),
    Run(f"delete namespace {NAMESPACE} --wait=false"),
    Run(f"get namespace {NAMESPACE}"),
    Run("create configmap late --from-literal=a=b"),
)

_MASKS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), shown)
    for pattern, shown in (
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
        (r"\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uid>"),
        (r'(resourceVersion"?: ?)"\d+"', r"\1<revision>"),
        (r"\bkube-api-access-[a-z0-9]{5}\b", "kube-api-access-<x>"),
        (r"\b10\.(9[6-9]|10\d|11[01])\.\d+\.\d+\b", "<address>"),
        (r"\b127\.0\.0\.1:\d+\b", "<server>"),
        (r"(?<=[\s(])(\d+[smhd])+(?=[\s)]|$)", "<age>"),
        (r"/tmp/(LIVE|MERGED)-\d+/", r"/tmp/\1/"),
        (r"\t\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}$", "\t<time>"),
        (r"\beyJ[\w.-]+", "<token>"),
        (r"[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \w+\.go:\d+\]", "<log>"),
        (r" +", " "),
    )
)
_STRUCTURE = re.compile(r"^(GROUP|KIND|VERSION|FIELD|FIELDS|RESOURCE):|^\s+\S+\t<|^error:|^\s+enum:")
_DATED = re.compile(r"^\s*(kubectl\.kubernetes\.io/restartedAt|generation):.*")


def save_outcomes(outcomes: list[Outcome]) -> Path:
    path = RECORDED / "kubectl.json.gz"
    path.write_bytes(gzip.compress(msgspec.json.encode(outcomes), mtime=0))
    return path


def load_outcomes() -> list[Outcome]:
    return msgspec.json.decode(gzip.decompress((RECORDED / "kubectl.json.gz").read_bytes()), type=list[Outcome])


def differing_outcomes(wanted: list[Outcome], given: list[Outcome]) -> list[str]:
    """One text for each command whose output or exit code differs."""
    texts = []
    for left, right in zip(wanted, given, strict=True):
        if left != right:
            before = [f"exit {left.code}", *left.stdout, *(f"! {line}" for line in left.stderr)]
            after = [f"exit {right.code}", *right.stdout, *(f"! {line}" for line in right.stderr)]
            shown = "\n".join(difflib.unified_diff(before, after, "real", "ours", lineterm="", n=1))
            texts.append(f"$ kubectl {left.command}\n{shown}")
    return texts


def run_script(kubeconfig: Path) -> list[Outcome]:
    """Every step's outcome, masked."""
    with TemporaryDirectory(prefix="heliostat-kubectl-") as home:
        kubectl = _Kubectl(kubeconfig, Path(home))
        outcomes = []
        for index, step in enumerate(SCRIPT):
            outcome = kubectl.perform(step)
            if outcome is not None:
                outcomes.append(outcome)
            if index == 0:  # what a controller does for every namespace, if there is one
                kubectl.perform(Run("create serviceaccount default"))
        return outcomes


class _Kubectl:
    def __init__(self, kubeconfig: Path, home: Path) -> None:
        binary = shutil.which("kubectl")
        if binary is None:
            raise RuntimeError("kubectl is not here: install it to run this script")
        self._binary = binary
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(kubeconfig), "TZ": "UTC"}
        self._started: _Started | None = None

    def perform(self, step: Step) -> Outcome | None:
        match step:
            case Run():
                done = subprocess.run(
                    self._command(step.arguments),
                    input=step.stdin,
                    env=self._environment,
                    capture_output=True,
                    text=True,
                    timeout=SECONDS,
                    check=False,
                )
                return _build_outcome(step.arguments, done.returncode, done.stdout, done.stderr)
            case Start():
                self._started = _Started(step.arguments, self._command(step.arguments), self._environment)
                self._started.read_until(step.until)
                return None
            case Stop():
                if self._started is None:
                    raise RuntimeError("nothing was started")
                return self._started.stop(step.until)

    def _command(self, arguments: str) -> list[str]:
        """Words are separated by spaces; a no-break space is a space inside a word."""
        words = [word.replace("\u00a0", " ") for word in arguments.split(" ")]
        return [self._binary, f"--namespace={NAMESPACE}", *words]


class _Started:
    """A command that runs beside the others, and what it has said so far."""

    def __init__(self, arguments: str, command: list[str], environment: dict[str, str]) -> None:
        self._arguments = arguments
        self._said = b""
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )

    def read_until(self, pattern: str) -> None:
        """Until it has said so, has ended, or is late: then what is missing shows in the comparison."""
        deadline = time.monotonic() + SECONDS
        while not re.search(pattern.encode(), self._said):
            left = deadline - time.monotonic()
            more = self._read(left) if left > 0 else b""
            if not more:
                return
            self._said += more

    def _read(self, seconds: float) -> bytes:
        if self._process.stdout is None:
            return b""
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return os.read(self._process.stdout.fileno(), 65536) if ready else b""

    def stop(self, pattern: str) -> Outcome:
        self.read_until(pattern)
        self._process.send_signal(signal.SIGINT)
        rest, stderr = self._process.communicate(timeout=SECONDS)
        return _build_outcome(self._arguments, 0, (self._said + rest).decode(), stderr.decode())


def _build_outcome(arguments: str, code: int, stdout: str, stderr: str) -> Outcome:
    if "--raw" in arguments and stdout.startswith("{"):
        stdout = _without_managed_fields(stdout)
    lines = [line for line in _mask(stdout).splitlines() if not _DATED.match(line)]
    if arguments.startswith("explain"):
        lines = [line for line in lines if _STRUCTURE.match(line)]
    if arguments.startswith(("describe", "get all")):
        lines = [line.rstrip() for line in lines]
    return Outcome(arguments, code, lines, _mask(stderr).splitlines())


def _without_managed_fields(text: str) -> str:
    tree = msgspec.json.decode(text)
    tree.get("metadata", {}).pop("managedFields", None)
    return msgspec.json.format(msgspec.json.encode(tree, order="sorted"), indent=1).decode()


def _mask(text: str) -> str:
    lines = INTERNAL_DIFF.sub("", text).splitlines()
    for pattern, shown in _MASKS:
        lines = [pattern.sub(shown, line) for line in lines]
    return "\n".join(lines)
