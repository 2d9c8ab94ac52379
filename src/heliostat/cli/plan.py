"""``heliostat plan``: what the operator would do next with the documents, and why, before it does it."""

import sys
import time

import msgspec

from heliostat.cli.errors import CommandError
from heliostat.cli.findings import format_finding
from heliostat.cli.inputs import build_parser, load_documents, parse_arguments
from heliostat.plan.against import Planned, plan_documents
from heliostat.plan.from_nothing import describe_random
from heliostat.plan.observed import ObservationError
from heliostat.plan.table import format_plan


def run(arguments: list[str]) -> int:
    parser = build_parser(
        "plan",
        "Print what the operator would do next with the RayClusters in the documents: every write with its reason,"
        " and what it waits for.",
    )
    parser.add_argument(
        "--against",
        metavar="FILE",
        action="append",
        default=[],
        help="the objects that are there, such as the output of kubectl get raycluster,pod,service,… -o yaml, the"
        " RayCluster with its status among them; without it nothing is there",
    )
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="default: table")
    options, settings = parse_arguments(parser, arguments)
    documents = load_documents(options.filename)
    objects = [document.tree for document in load_documents(options.against)] if options.against else []
    try:
        planned = plan_documents(documents, objects, options.namespace, settings, time.time())
    except ObservationError as error:
        raise CommandError(f"cannot use the objects of --against: {error}", 1) from None
    if not planned:
        raise CommandError(f"no ray.io document in {', '.join(options.filename)}", 1)
    for item in planned:
        for problem in item.problems:
            print(format_finding(item.document, problem), file=sys.stderr)
    if options.output == "json":
        print(_format_json(planned))
    else:
        print("\n\n".join(_format_table(item) for item in planned))
    refused = any(problem.severity == "error" for item in planned for problem in item.problems)
    return 1 if refused else 0


def _title(item: Planned) -> str:
    tree = item.document.tree
    return f"{tree.get('kind')} {(tree.get('metadata') or {}).get('name', '')}"


def _format_table(item: Planned) -> str:
    if item.plan is not None:
        return f"# {_title(item)}\n{format_plan(item.plan)}"
    if any(problem.severity == "error" for problem in item.problems):
        return f"# {_title(item)}\nnothing to do: the document is refused"
    return f"# {_title(item)}\nonly RayClusters are planned; heliostat render shows the cluster that this one makes"


def _format_json(planned: list[Planned]) -> str:
    plans = [{"object": _title(item), "plan": _plan_tree(item)} for item in planned]
    return msgspec.json.format(msgspec.json.encode(plans), indent=2).decode()


def _plan_tree(item: Planned) -> object:
    """Actions carry their verb, and secrets stay sentences."""
    if item.plan is None:
        return None
    plan = item.plan
    return {
        "stages": [
            {
                "name": stage.name,
                "needs": stage.needs,
                "actions": [
                    {"verb": type(action).__name__, **describe_random(msgspec.structs.asdict(action))}
                    for action in stage.actions
                ],
            }
            for stage in plan.stages
        ],
        "status": plan.status,
        "waits": plan.waits,
        "events": plan.events,
        "wakeAfter": plan.wake_after,
    }
