"""``heliostat plan``: what the operator would do next with the documents, and why, before it does it.

Against the live cluster, unless ``--against`` names files or ``--from-nothing`` says that there is nothing.
"""

import argparse
import sys
import time

import msgspec

from heliostat.api.settings import Settings
from heliostat.cli.cluster_access import Cluster, run_on_cluster
from heliostat.cli.errors import CommandError, UnreachableError
from heliostat.cli.findings import format_finding
from heliostat.cli.inputs import build_parser, load_documents, take_files
from heliostat.cli.judging import GivenSettings, parse_on_cluster
from heliostat.cli.live_documents import fetch_documents
from heliostat.cli.loaded_files import add_loaded
from heliostat.cli.prose import say
from heliostat.cli.surroundings import fetch_surroundings, list_kinds, take_from_files, tell_how_to_read
from heliostat.cli.which_cluster import add_cluster_flags
from heliostat.kube.documents import Document
from heliostat.kube.plan import Plan
from heliostat.kube.titles import text_in_metadata, title_of
from heliostat.plan.against import Planned, plan_document
from heliostat.plan.because import Hold
from heliostat.plan.kind import Surroundings
from heliostat.plan.observing import ObservationError
from heliostat.plan.table import describe_random, format_plan

_DEFAULT = "default"


def run(arguments: list[str]) -> int:
    options, given = _parse(arguments)
    documents = load_documents(options.filename)
    if options.against:
        return _plan_against_files(documents, options, given.settings)
    if options.from_nothing:
        return _show(_plan_from_nothing(documents, options, given.settings), options)
    try:
        return run_on_cluster(options, lambda cluster: _plan_live(cluster, documents, options, given))
    except UnreachableError as error:
        if error.is_configured or not documents:
            way_out = "; --from-nothing plans as if nothing were there" if documents else ""
            raise CommandError(f"{error}{way_out}", 1) from None
        say(f"planned as if nothing were there: {error}", sys.stderr)
        return _show(_plan_from_nothing(documents, options, given.settings), options)


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, GivenSettings]:
    parser = build_parser(
        "plan",
        "Print what the operator would do next with the ray.io objects in the documents, given what is in the cluster:"
        " every write with its reason, and what it waits for. With a name instead of documents: with what is there"
        " now. Nothing is changed.",
    )
    add_cluster_flags(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--against",
        metavar="FILE",
        action="append",
        default=[],
        help="do not ask a cluster: these objects are there, such as the output of kubectl get raycluster,pod,… -o"
        " yaml, the RayCluster with its status among them; a kind of which the file holds nothing is unknown",
    )
    what.add_argument("--from-nothing", action="store_true", help="do not ask a cluster: nothing is there yet")
    parser.add_argument(
        "--complete", action="store_true", help="with --against: what the files do not hold is not there"
    )
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="default: table")
    options, given = parse_on_cluster(parser, arguments)
    take_files(options)
    if options.complete and not options.against:
        raise CommandError("--complete says something of the files of --against, and there are none")
    if options.target and (options.filename or options.against or options.from_nothing):
        raise CommandError(
            "a name is looked up in the cluster: leave out -f, --against and --from-nothing, or the name"
        )
    if not options.target and not options.filename:
        raise CommandError("name documents (-f FILE) or an object of the cluster (raycluster/NAME, rayjob/NAME)")
    return options, given


def _plan_against_files(documents: list[Document], options: argparse.Namespace, settings: Settings) -> int:
    there = take_from_files(load_documents(options.against), settings, is_complete=options.complete)
    namespace = options.namespace or _DEFAULT
    try:
        planned = [plan_document(document, there, namespace, settings, time.time()) for document in documents]
    except ObservationError as error:
        raise CommandError(f"cannot use the objects of --against: {error}", 1) from None
    return _show([_with_way_to_read(item, there, settings, namespace) for item in planned if item], options)


def _with_way_to_read(item: Planned, there: Surroundings, settings: Settings, namespace: str) -> Planned:
    if item.plan is None or not _lacks_knowledge(item.plan):
        return item
    where = text_in_metadata(item.document.tree, "namespace") or namespace
    line = tell_how_to_read(there.unread, settings, where)
    note = (
        f"not known, because --against holds none: {list_kinds(tuple(there.unread))}. Add what {line} prints, or leave"
        " --against out to have the cluster read; --complete says that there are none"
    )
    return msgspec.structs.replace(item, notes=(*item.notes, note))


def _lacks_knowledge(plan: Plan) -> bool:
    return any(wait.reason == Hold.NOT_KNOWN for wait in plan.waits)


def _plan_from_nothing(documents: list[Document], options: argparse.Namespace, settings: Settings) -> list[Planned]:
    namespace, there = options.namespace or _DEFAULT, Surroundings()
    planned = (plan_document(document, there, namespace, settings, time.time()) for document in documents)
    return [item for item in planned if item]


async def _plan_live(
    cluster: Cluster, documents: list[Document], options: argparse.Namespace, given: GivenSettings
) -> int:
    settings = given.on(cluster.local)
    documents = documents or await fetch_documents(cluster, options.target, "RayClusters are planned")
    planned: list[Planned] = []
    for document in documents:
        there = await fetch_surroundings(cluster, document, settings)
        try:
            item = plan_document(document, there, cluster.namespace, settings, time.time())
        except ObservationError as error:
            raise CommandError(f"the cluster shows an object that cannot be read: {error}", 1) from None
        planned += [await add_loaded(cluster, item, documents)] if item else []
    return _show(planned, options)


def _show(planned: list[Planned], options: argparse.Namespace) -> int:
    if not planned:
        raise CommandError(f"no ray.io document in {', '.join([*options.filename, *options.target])}", 1)
    for item in planned:
        for problem in item.problems:
            say(format_finding(item.document, problem), sys.stderr)
    if options.output == "json":
        print(_format_json(planned))
    else:
        say("\n\n".join(_format_table(item) for item in planned))
    refused = any(problem.severity == "error" for item in planned for problem in item.problems)
    return 1 if refused else 0


def _format_table(item: Planned) -> str:
    title = f"# {title_of(item.document.tree)}"
    if item.plan is not None:
        notes = "".join(f"\n{note}" for note in item.notes)
        return f"{title}\n{format_plan(item.plan)}" + (f"\n\nNOTES{notes}" if notes else "")
    if any(problem.severity == "error" for problem in item.problems):
        return f"{title}\nnothing to do: the document is refused"
    return f"{title}\nnothing to plan: no such kind is looked after"


def _format_json(planned: list[Planned]) -> str:
    plans = [
        {"object": title_of(item.document.tree), "plan": _plan_tree(item), "notes": item.notes} for item in planned
    ]
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
