"""``heliostat validate``: every problem in the documents, with file, line, path and fix; exit 1 if one is an error.

With ``--strict`` a warning is one too.
"""

import sys
from collections.abc import Iterator

from heliostat.api.documents import is_ray_document
from heliostat.api.review import review
from heliostat.api.settings import Settings
from heliostat.cli.errors import CommandError
from heliostat.cli.findings import format_finding, summarize
from heliostat.cli.inputs import build_parser, check_inputs, load_named, read_inputs
from heliostat.cli.judging import parse_on_cluster, settings_of_cluster
from heliostat.cli.prose import say
from heliostat.cli.which_cluster import add_cluster_flags
from heliostat.kube.core_objects import core_problems
from heliostat.kube.documents import Document, DocumentError, read_documents
from heliostat.kube.problems import Problem


def run(arguments: list[str]) -> int:
    parser = build_parser(
        "validate",
        "Find every problem in ray.io documents, with line and fix. A cluster is asked only for objects by name.",
    )
    parser.add_argument("--strict", action="store_true", help="a warning, such as an unknown field, is a failure too")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but what makes it fail")
    add_cluster_flags(parser)
    options, given = parse_on_cluster(parser, arguments)
    check_inputs(options)
    settings = settings_of_cluster(options, given) if options.target else given.settings
    problems: list[Problem] = []
    live = load_named(options, "ray.io objects are validated")
    documents = len(live)
    for document in live:
        problems += _report(document, settings, quiet=options.quiet and not options.strict)
    unreadable = 0
    for name, content in read_inputs(options.filename):
        try:
            read = read_documents(content, name)
        except DocumentError as error:
            unreadable += 1
            say(f"{error.source}:{error.line}: error: {error.problem}\n    fix: {error.fix}")
            continue
        documents += len(read)
        for document in read:
            problems += _report(document, settings, quiet=options.quiet and not options.strict)
    if documents == 0 and not unreadable:
        raise CommandError(f"no documents in {', '.join(options.filename)}", 1)
    if not options.quiet:
        print(summarize(documents, problems, unreadable), file=sys.stderr)
    fatal = ("error", "warning") if options.strict else ("error",)
    return 1 if unreadable or any(problem.severity in fatal for problem in problems) else 0


def _report(document: Document, settings: Settings, *, quiet: bool) -> list[Problem]:
    problems = list(_problems(document, settings))
    for problem in problems:
        if problem.severity == "error" or not quiet:
            say(format_finding(document, problem))
    return problems


def _problems(document: Document, settings: Settings) -> Iterator[Problem]:
    """Our own kinds by all their rules, built-in kinds by their schema, others not at all."""
    if is_ray_document(document.tree):
        yield from review(document.tree, settings).problems
    else:
        yield from core_problems(document.tree)
