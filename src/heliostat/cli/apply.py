"""``heliostat apply``: documents become objects of the cluster, by server-side apply.

ray.io documents are reviewed first, as ``heliostat validate`` does; with an error in any of them nothing is applied.
Namespaces and definitions go first, because others may need them. What fails does not keep the rest from being tried.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterable
from typing import Any

import msgspec

from heliostat.api.documents import is_ray_document
from heliostat.api.review import review
from heliostat.api.settings import Settings
from heliostat.cli.cluster_access import Cluster, run_on_cluster
from heliostat.cli.errors import CommandError
from heliostat.cli.findings import format_finding
from heliostat.cli.identity import find_identity_problem
from heliostat.cli.inputs import add_filename_flag, load_documents, require_files
from heliostat.cli.judging import GivenSettings, parse_on_cluster, settings_of_cluster
from heliostat.cli.served_kinds import ServedKinds, fetch_kinds
from heliostat.cli.which_cluster import add_cluster_flags
from heliostat.kube.documents import Document
from heliostat.kube.jsontree import JsonObject, encode_json
from heliostat.kube.resource_types import ResourceType
from heliostat.runtime.calls import path_of
from heliostat.runtime.errors import ConflictError, NotFoundError, RefusedError
from heliostat.runtime.transport import Call

MANAGER = "heliostat"
APPLY_PATCH = "application/apply-patch+yaml"  # JSON is YAML
_FIRST = ("Namespace", "CustomResourceDefinition")
_DEFINITION_SECONDS = 15.0
_POLL_SECONDS = 0.1


def run(arguments: list[str]) -> int:
    options, given = _parse(arguments)
    documents = load_documents(options.filename)
    if not documents:
        raise CommandError(f"no documents in {', '.join(options.filename)}", 1)
    if _report(documents, settings_of_cluster(options, given)):
        raise CommandError("nothing was applied: correct the errors above", 1)
    return run_on_cluster(options, lambda cluster: _apply_all(cluster, documents, options))


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, GivenSettings]:
    parser = argparse.ArgumentParser(
        prog="heliostat apply",
        description="Create or change objects of the cluster as the documents say (server-side apply). ray.io documents"
        " are validated first, by the settings of the local operator where the cluster is one of this machine, else by"
        " the operator's flags given here; with an error in any of them nothing is applied.",
        allow_abbrev=False,
    )
    add_filename_flag(parser)
    parser.add_argument("file", nargs="*", metavar="FILE", help="the same as -f FILE")
    parser.add_argument("--dry-run", action="store_true", help="let the server check everything and keep nothing")
    parser.add_argument("--force-conflicts", action="store_true", help="take over fields that others have set")
    parser.add_argument(
        "--field-manager", default=MANAGER, metavar="NAME", help=f"field manager of the server-side apply ({MANAGER})"
    )
    add_cluster_flags(parser)
    options, given = parse_on_cluster(parser, arguments)
    require_files(options)
    return options, given


def _report(documents: Iterable[Document], settings: Settings) -> bool:
    """Print what is wrong with ray.io documents; whether an error is among it."""
    has_errors = False
    for document in documents:
        if is_ray_document(document.tree):
            for problem in review(document.tree, settings).problems:
                has_errors |= problem.severity == "error"
                print(format_finding(document, problem), file=sys.stderr)
    return has_errors


async def _apply_all(cluster: Cluster, documents: list[Document], options: argparse.Namespace) -> int:
    kinds = await fetch_kinds(cluster.client)
    has_failed = False
    for document in sorted(documents, key=lambda document: document.tree.get("kind") not in _FIRST):
        try:
            kinds, resource = await _find_kind(cluster, kinds, document, may_wait=_defines(documents, document))
            print(await apply_document(cluster, resource, document, options))
            sys.stdout.flush()
        except (RefusedError, CommandError) as error:
            has_failed = True
            print(f"{document.source}:{document.line_of()}: error: {_tell(error)}", file=sys.stderr)
    return 1 if has_failed else 0


def _tell(error: Exception) -> str:
    return f"{error}; --force-conflicts takes the fields over" if isinstance(error, ConflictError) else str(error)


def _defines(documents: list[Document], wanted: Document) -> bool:
    """Whether a definition among the documents is about the kind of this one."""
    kind = wanted.tree.get("kind")
    definitions = (each.tree for each in documents if each.tree.get("kind") == "CustomResourceDefinition")
    return any(_defined_kind(tree) == kind for tree in definitions)


def _defined_kind(tree: JsonObject) -> Any:
    found: Any = tree
    for key in ("spec", "names", "kind"):
        found = found.get(key) if isinstance(found, dict) else None
    return found


async def _find_kind(
    cluster: Cluster, kinds: ServedKinds, document: Document, *, may_wait: bool
) -> tuple[ServedKinds, ResourceType]:
    """A kind that was defined a moment ago is served a moment later."""
    if problem := find_identity_problem(document.tree):
        raise CommandError(problem)
    api_version, kind = document.tree["apiVersion"], document.tree["kind"]
    deadline = time.monotonic() + _DEFINITION_SECONDS
    while True:
        resource = kinds.of(api_version, kind)
        if resource is not None:
            return kinds, resource
        if not may_wait or time.monotonic() > deadline:
            raise CommandError(kinds.explain_missing(api_version, kind))
        await asyncio.sleep(_POLL_SECONDS)
        kinds = await fetch_kinds(cluster.client)


async def apply_document(
    cluster: Cluster, resource: ResourceType, document: Document, options: argparse.Namespace
) -> str:
    """The line that tells what has become of it."""
    tree = place(document.tree, resource, cluster.namespace)
    name, namespace = tree["metadata"].get("name"), tree["metadata"].get("namespace", "")
    path = path_of(resource, namespace, str(name))
    before = await _fetch_version(cluster, path)
    query = [("fieldManager", options.field_manager)]
    query += [("force", "true")] if options.force_conflicts else []
    query += [("dryRun", "All")] if options.dry_run else []
    call = Call(method="PATCH", path=path, query=tuple(query), body=encode_json(tree), content_type=APPLY_PATCH)
    after = _version_of(await cluster.client.request(call))
    verdict = "created" if not before else "unchanged" if before == after else "configured"
    singular = f"{resource.kind.lower()}.{resource.group}" if resource.group else resource.kind.lower()
    return f"{singular}/{name} {verdict}{' (dry run)' if options.dry_run else ''}"


def place(tree: JsonObject, resource: ResourceType, namespace: str) -> JsonObject:
    metadata = dict(tree.get("metadata") or {})
    if resource.is_namespaced:
        metadata["namespace"] = metadata.get("namespace") or namespace
    return {**tree, "metadata": metadata}


async def _fetch_version(cluster: Cluster, path: str) -> str:
    """Empty: there is no such object yet."""
    try:
        return _version_of(await cluster.client.request(Call(method="GET", path=path)))
    except NotFoundError:
        return ""


def _version_of(body: bytes) -> str:
    return str(msgspec.json.decode(body)["metadata"].get("resourceVersion", ""))
