"""Write docs/reference from the code: the commands' own help, the operator's settings, the reasons of plans, metrics.

``make reference`` runs it; a test compares the committed pages with a fresh run, so they cannot go stale.
"""

import asyncio
import io
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from msgspec import NODEFAULT, structs

from heliostat.api.settings import GATES
from heliostat.cli.main import COMMANDS, main, usage
from heliostat.embedded.access.users import ANONYMOUS
from heliostat.embedded.gateway.telemetry import Telemetry
from heliostat.embedded.in_process import InProcessTransport
from heliostat.embedded.server.messages import Request
from heliostat.operator.config_file import API_VERSION, KIND, UNUSED, Configuration
from heliostat.operator.flag_help import FLAG_SENTENCES, VARIABLE_SENTENCES
from heliostat.operator.flags import SWITCHES, OperatorFlags
from heliostat.operator.options import OperatorOptions
from heliostat.operator.program import RayOperator
from heliostat.operator.rights import NEED_WORDS, RIGHTS
from heliostat.plan.kinds import KINDS
from heliostat.plan.rayjob.diagram import describe_phases
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.loop_metrics import LoopMetrics
from heliostat.runtime.metrics import Description, Registry
from heliostat.runtime.process_metrics import declare_process_metrics

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
GENERATED = "<!-- made by tools/generate_reference.py; change the code, then run make reference -->\n"


def build_pages() -> dict[str, str]:
    """File name to text."""
    return {
        "commands.md": _join(_commands()),
        "settings.md": _join(_settings()),
        "plan-reasons.md": _join(_reasons()),
        "rayjob-phases.md": _join(describe_phases()),
        "rights.md": _join(_rights()),
        "metrics.md": _join(_metrics()),
    }


def _join(lines: Iterator[str]) -> str:
    return GENERATED + "\n".join(lines) + "\n"


def _help(command: str) -> str:
    os.environ["COLUMNS"] = "100"  # argparse folds its text to the terminal's width
    output = io.StringIO()
    with redirect_stdout(output), suppress(SystemExit):
        main([command, "--help"])
    return output.getvalue().rstrip()


def _commands() -> Iterator[str]:
    yield from ("# Commands", "", "```text", usage(), "```")
    for command in COMMANDS:
        yield from ("", f"## heliostat {command}", "", "```text", _help(command), "```")


def _settings() -> Iterator[str]:
    yield from ("# The operator's settings", "", "KubeRay's flags, gates and environment variables, with its defaults.")
    yield from ("", "## Flags", "", "| flag | default | meaning |", "|---|---|---|")
    for field in structs.fields(OperatorFlags):
        name = field.name.replace("_", "-")
        shown = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
        yield f"| `--{name}` | {f'`{shown}`' if shown else ''} | {FLAG_SENTENCES[name]} |"
    yield from ("", "## Feature gates", "", "| gate | default | stage |", "|---|---|---|")
    for name, (default, stage) in GATES.items():
        yield f"| `{name}` | {'on' if default else 'off'} | {stage} |"
    yield from ("", "## Environment switches", "", "| variable | on when |", "|---|---|")
    for name, (_field, reads) in SWITCHES.items():
        rule = "unless it is `false`" if reads("") else "it is `true`"
        yield f"| `{name}` | {rule} |"
    yield from ("", "## Other environment variables", "", "| variable | meaning |", "|---|---|")
    yield from (f"| `{name}` | {sentence} |" for name, sentence in VARIABLE_SENTENCES.items())
    yield from _config_fields()


def _config_fields() -> Iterator[str]:
    yield from ("", "## The configuration file", "", f"`{API_VERSION}`, kind `{KIND}`, in YAML or JSON.")
    yield from ("", "| field | default |", "|---|---|")
    for field in structs.fields(Configuration):
        if field.name in ("api_version", "kind"):
            continue
        default = field.default if field.default_factory is NODEFAULT else field.default_factory()
        shown = str(default).lower() if isinstance(default, bool) else str(default or "")
        note = "not used, as in KubeRay" if field.encode_name in UNUSED else f"`{shown}`" if shown else ""
        yield f"| `{field.encode_name}` | {note} |"


def _rights() -> Iterator[str]:
    yield from ("# What the operator may do", "", "Required rights are waited for; without the others it goes on.")
    yield from ("", "| resource | verbs | what for | when | required |", "|---|---|---|---|---|")
    for right in RIGHTS:
        name = f"{right.resource}.{right.group}" if right.group else right.resource
        required = "yes" if right.is_required else ""
        yield f"| `{name}` | {' '.join(right.verbs)} | {right.why} | {NEED_WORDS[right.need]} | {required} |"


def _reasons() -> Iterator[str]:
    yield from ("# Why a plan does what it does", "", "The reasons of a RayCluster serve the other kinds, too.", "")
    yield from ("| kind | reason | meaning |", "|---|---|---|")
    yield from (f"| {kind} | `{because}` | {because.sentence} |" for kind, because in _list_words("Because"))
    yield from (
        "",
        "# Why a plan waits",
        "",
        "Each wait also says in its own words what it waits for and what ends it.",
        "",
        "| kind | reason | meaning | what to do | ends by |",
        "|---|---|---|---|---|",
    )
    for kind, hold in _list_words("Hold"):
        about = hold.about
        yield f"| {kind} | `{hold}` | {about.meaning} | {about.fix} | {about.mended_by or 'itself'} |"


def _list_words(which: str) -> Iterator[tuple[str, Any]]:
    """Of every kind in the table. One word may mean something else for another kind, so each stands with its kind."""
    for kind in KINDS:
        own = f"heliostat.plan.{kind.lower()}.reasons"
        file = import_module(own if find_spec(own) is not None else "heliostat.plan.because")
        yield from ((kind, word) for word in getattr(file, which))


def _metrics() -> Iterator[str]:
    yield from (
        "# Metrics of the operator",
        "",
        "They are on `/metrics`, in Prometheus' text format. A histogram has the series `_bucket`, `_sum`, `_count`.",
    )
    left = asyncio.run(_describe_metrics())
    for title, about, prefixes in _METRIC_GROUPS:
        shown = [metric for metric in left if metric.name.startswith(prefixes)]
        left = [metric for metric in left if metric not in shown]
        yield from ("", f"## {title}", "", about, "", "| metric | type | labels | meaning |", "|---|---|---|---|")
        for metric in sorted(shown, key=lambda metric: metric.name):
            labels = ", ".join(f"`{label}`" for label in metric.labels)
            yield f"| `{metric.name}` | {metric.type} | {labels} | {metric.about} |"
    yield from ("", *_gateway_metrics())
    if left:
        raise SystemExit(f"metrics that no chapter is for: {left}")


def _gateway_metrics() -> Iterator[str]:
    registry = Registry()
    Telemetry(registry)
    yield from (
        "## The gateway of the local node",
        "",
        "They are the node's: `kubectl get --raw /api/v1/nodes/NAME/proxy/metrics`.",
        "",
        "| metric | type | labels | meaning |",
        "|---|---|---|---|",
    )
    for metric in registry.describe():
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        yield f"| `{metric.name}` | {metric.type} | {labels} | {metric.about} |"


_METRIC_GROUPS = (
    (
        "RayClusters and RayJobs",
        "KubeRay's names, with `--enable-metrics`. There is a series for each object, and none for one that is gone.",
        ("kuberay_",),
    ),
    (
        "Reconciling",
        "The names and labels of controller-runtime. `result` is `success`, `error`, `requeue` or `requeue_after`.",
        ("controller_runtime_", "workqueue_", "leader_election_"),
    ),
    (
        "Requests to the API server",
        "The names and labels of client-go. `verb` and `method` are the HTTP method; no answer is code `<error>`.",
        ("rest_client_",),
    ),
    ("The process", "The names that every Prometheus client has.", ("process_",)),
    (
        "Heliostat's own",
        "What the others have no word for. `because` is a reason of [plan-reasons.md](plan-reasons.md).",
        ("heliostat_",),
    ),
)


async def _describe_metrics() -> list[Description]:
    """Of a whole operator, which reaches no server."""
    metrics = LoopMetrics(Registry())
    declare_process_metrics(metrics.registry)
    metrics.read_lease("", LeaseFence(asyncio.get_running_loop().time))
    transport = InProcessTransport(_unreachable, ANONYMOUS)
    RayOperator(transport, OperatorOptions(has_kuberay_metrics=True), on_problem=_ignore, metrics=metrics)
    return metrics.registry.describe()


async def _unreachable(request: Request) -> NoReturn:
    raise AssertionError(f"nobody should ask for {request.path}")


def _ignore(_what: str, _error: Exception) -> None:
    """Nothing runs, so nothing goes wrong."""


def write_pages(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in build_pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
