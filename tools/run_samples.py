"""``make samples``: run KubeRay's samples on this machine, and write docs/reference/samples.md from what happens.

One ``heliostat up`` for all, one sample at a time, each with a deadline. Which ray.io kinds are run is asked of the
operator itself, so the table changes when it learns another one.
"""

import argparse
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.samples.page import Row, build_page, read_rows  # noqa: E402
from tools.samples.trying import try_sample  # noqa: E402
from tools.samples.verdicts import Tree, Verdict, find_downloads, judge_documents, renew  # noqa: E402

from heliostat.api.kinds import KINDS  # noqa: E402
from heliostat.api.settings import GATES, Settings, default_gates  # noqa: E402
from heliostat.embedded.access.users import ANONYMOUS  # noqa: E402
from heliostat.embedded.in_process import InProcessTransport  # noqa: E402
from heliostat.embedded.server.messages import Request  # noqa: E402
from heliostat.kube.documents import read_documents  # noqa: E402
from heliostat.local.session import Session, open_session  # noqa: E402
from heliostat.local.state import State  # noqa: E402
from heliostat.operator.options import OperatorOptions  # noqa: E402
from heliostat.operator.program import RayOperator  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "samples.md"
HELIOSTAT = Path(sys.executable).with_name("heliostat")
VAIN_SECONDS = 60.0  # for what fetches something where nothing can be fetched: how far it comes is seen by then
NOT_ASKED_FOR = (  # gates that no sample is about
    "KubernetesWAS",  # it replaces the scheduling of every cluster
    "SidecarSubmitterRestart",  # it needs a Kubernetes that is newer than what we serve
)
_RAY_HEAD = {"name": "ray-head", "image": "rayproject/ray:2.52.0", "resources": {"requests": {"cpu": "200m"}}}
BEFORE: dict[str, tuple[Tree, ...]] = {  # what the comments of a file tell the user to make first
    "ray-cluster.auth-manual.yaml": (
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "ray-cluster-with-auth"},
            "stringData": {"auth_token": "raycluster_secret"},
        },
    ),
    "ray-job.use-existing-raycluster.yaml": (
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": {"name": "ray-cluster-kuberay"},
            "spec": {"headGroupSpec": {"template": {"spec": {"containers": [_RAY_HEAD]}}}},
        },
    ),
}


def main() -> int:
    options = _parse()
    files = sorted(path for path in options.samples.rglob("*.yaml") if _is_meant(path, options))
    state = Path(tempfile.mkdtemp(prefix="heliostat-samples-"))
    gates = ",".join(f"{name}=true" for name in _list_gates())
    os.environ["HELIOSTAT_STATE"] = str(state)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended, also when time is up
    try:
        subprocess.run([HELIOSTAT, "up", "--ephemeral", "--feature-gates", gates], check=True)
        asyncio.run(_run_all(options, files, State(state).kubeconfig))
    finally:
        subprocess.run([HELIOSTAT, "down", "--purge"], check=False)
        shutil.rmtree(state, ignore_errors=True)
    print(f"written: {options.output}")
    return 0


def _list_gates() -> list[str]:
    return [name for name in GATES if name not in NOT_ASKED_FOR]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run_samples.py", description=__doc__)
    parser.add_argument("samples", type=Path, help="ray-operator/config/samples of KubeRay")
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        action="append",
        default=[],
        help="just these files; the other rows of the page stay",
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="the most that one sample may take (120)")
    parser.add_argument(
        "--registries-only", action="store_true", help="this machine reaches package registries and nothing else"
    )
    parser.add_argument("--output", type=Path, default=PAGE, help="the page (docs/reference/samples.md)")
    options = parser.parse_args()
    if not options.samples.is_dir():
        parser.error(f"{options.samples} is no directory; make samples SAMPLES=…/ray-operator/config/samples")
    return options


def _is_meant(path: Path, options: argparse.Namespace) -> bool:
    name = str(path.relative_to(options.samples))
    return not options.only or any(fnmatch(name, pattern) for pattern in options.only)


async def _run_all(options: argparse.Namespace, files: Sequence[Path], kubeconfig: Path) -> None:
    """The page is written with every row: a run takes half an hour, and may be stopped."""
    reconciled, is_online = find_reconciled(), _has_way_out()
    rows = read_rows(options.output.read_text()) if options.only and options.output.exists() else {}
    rows = {name: _renew(options.samples / name, row, reconciled) for name, row in rows.items()}
    async with open_session(kubeconfig, patience=60.0) as session:
        for path in files:
            name, begun = str(path.relative_to(options.samples)), time.monotonic()
            trees = [document.tree for document in read_documents(path.read_bytes(), name)]
            seconds = options.seconds if is_online or not find_downloads(trees) else min(options.seconds, VAIN_SECONDS)
            verdict = judge_documents(trees, reconciled) or await _try(session, name, trees, seconds)
            kinds = ", ".join(dict.fromkeys(tree["kind"] for tree in trees))
            rows[name] = Row(name, kinds, verdict)
            page = build_page(rows.values(), is_online=is_online and not options.registries_only)
            options.output.write_text(page)
            print(f"{time.monotonic() - begun:6.1f} s  {name}: {verdict.here} {verdict.why}", flush=True)


def _renew(path: Path, row: Row, reconciled: Collection[str]) -> Row:
    trees = [document.tree for document in read_documents(path.read_bytes(), row.file)] if path.exists() else []
    return Row(row.file, row.kinds, renew(row.verdict, trees, reconciled))


async def _try(session: Session, name: str, trees: Sequence[Tree], seconds: float) -> Verdict:
    return await try_sample(session, [*BEFORE.get(name, ()), *trees], seconds)


def _has_way_out() -> bool:
    """A default route."""
    routes = [line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:]]
    return any(destination == "00000000" for _device, destination, *_ in routes)


def find_reconciled() -> set[str]:
    """The kinds that a whole operator, with the gates of a run, has controllers for; it reaches no server."""
    gates = default_gates() | dict.fromkeys(_list_gates(), True)
    options = OperatorOptions(settings=Settings(gates=gates))
    operator = RayOperator(InProcessTransport(_unreachable, ANONYMOUS), options, on_problem=_ignore)
    names = {controller.reconciler.name for controller in operator.host.controllers}
    return {kind for kind in KINDS if f"{kind.lower()}-controller" in names}


async def _unreachable(request: Request) -> NoReturn:
    raise AssertionError(f"nobody should ask for {request.path}")


def _ignore(_what: str, _error: Exception) -> None:
    """Nothing runs, so nothing goes wrong."""


if __name__ == "__main__":
    sys.exit(main())
