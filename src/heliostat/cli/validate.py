"""``heliostat validate``: every problem in the documents, with file, line, path and fix; exit 1 if one is an error."""

import sys
from collections.abc import Iterator

from heliostat.api.documents import is_ray_document
from heliostat.api.review import review
from heliostat.api.settings import Settings
from heliostat.cli.errors import CommandError
from heliostat.cli.findings import format_finding, summarize
from heliostat.cli.inputs import build_parser, parse_arguments, read_inputs
from heliostat.kube.core_objects import core_problems
from heliostat.kube.documents import Document, DocumentError, read_documents
from heliostat.kube.problems import Problem


def run(arguments: list[str]) -> int:
    parser = build_parser("validate", "Find every problem in ray.io documents, with line and fix, without a cluster.")
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    options, settings = parse_arguments(parser, arguments)
    problems: list[Problem] = []
    documents = 0
    unreadable = 0
    for name, content in read_inputs(options.filename):
        try:
            read = read_documents(content, name)
        except DocumentError as error:
            unreadable += 1
            print(f"{error.source}:{error.line}: error: {error.problem}\n    fix: {error.fix}")
            continue
        documents += len(read)
        for document in read:
            problems += _report(document, settings, quiet=options.quiet)
    if documents == 0 and not unreadable:
        raise CommandError(f"no documents in {', '.join(options.filename)}", 1)
    if not options.quiet:
        print(summarize(documents, problems, unreadable), file=sys.stderr)
    return 1 if unreadable or any(problem.severity == "error" for problem in problems) else 0


def _report(document: Document, settings: Settings, *, quiet: bool) -> list[Problem]:
    problems = list(_problems(document, settings))
    for problem in problems:
        if problem.severity == "error" or not quiet:
            print(format_finding(document, problem))
    return problems


def _problems(document: Document, settings: Settings) -> Iterator[Problem]:
    """Our own kinds by all their rules, built-in kinds by their schema, others not at all."""
    if is_ray_document(document.tree):
        yield from review(document.tree, settings).problems
    else:
        yield from core_problems(document.tree)
