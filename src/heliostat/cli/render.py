"""``heliostat render``: every object the operator would create for the documents from nothing."""

import sys
import time
from typing import Any

from heliostat.cli.errors import CommandError
from heliostat.cli.findings import format_finding
from heliostat.cli.inputs import build_parser, check_inputs, load_documents, load_named
from heliostat.cli.judging import parse_on_cluster, settings_of_cluster
from heliostat.cli.which_cluster import add_cluster_flags
from heliostat.kube.jsontree import encode_json
from heliostat.kube.yaml_text import encode_yaml
from heliostat.plan.render import render_documents


def run(arguments: list[str]) -> int:
    parser = build_parser(
        "render",
        "Print every object the operator would create for the documents if nothing existed yet. Names and UIDs that the"
        " operator or the API server would choose are made up, always the same ones for the same input.",
    )
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help="default: yaml")
    add_cluster_flags(parser)
    options, given = parse_on_cluster(parser, arguments)
    check_inputs(options)
    documents = [*load_documents(options.filename), *load_named(options, "ray.io objects are rendered")]
    settings = settings_of_cluster(options, given) if options.target else given.settings
    rendering = render_documents(documents, options.namespace or "default", settings, time.time())
    for finding in rendering.findings:
        print(format_finding(finding.document, finding.problem), file=sys.stderr)
    for note in rendering.notes:
        print(f"note: {note}", file=sys.stderr)
    if not documents:
        raise CommandError(f"no documents in {', '.join(options.filename)}", 1)
    print_objects(list(rendering.objects), options.output)
    return 1 if rendering.has_errors else 0


def print_objects(objects: list[dict[str, Any]], output: str) -> None:
    if output == "json":
        print(encode_json({"apiVersion": "v1", "kind": "List", "items": objects}).decode())
    elif objects:
        print("---\n".join(encode_yaml(tree) for tree in objects), end="")
