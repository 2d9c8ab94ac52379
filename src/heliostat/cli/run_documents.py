"""The documents of ``heliostat run``: read and judged before anything is started.

Findings are told as ``apply`` tells them. Two are warnings there and the end here. A field that its kind does not have:
the server is ours, has our definitions, and refuses such a document. A Serve configuration that can be given to nobody:
it would be waited for in vain.
"""

import sys
from collections import Counter
from collections.abc import Iterable

from heliostat.api.documents import is_ray_document
from heliostat.api.review import review
from heliostat.api.settings import Settings
from heliostat.cli.errors import CommandError
from heliostat.cli.findings import format_finding
from heliostat.cli.identity import check_identity
from heliostat.cli.inputs import load_documents
from heliostat.cli.prose import say
from heliostat.kube.jsontree import JsonObject
from heliostat.kube.problems import Problem

RAY_CLUSTER, RAY_JOB, RAY_SERVICE = "RayCluster", "RayJob", "RayService"
_LAST = {RAY_CLUSTER: 2, RAY_JOB: 3, RAY_SERVICE: 3}
_RUN = (RAY_JOB, RAY_SERVICE)  # these have the clusters that they need
_FIRST = ("Namespace", "CustomResourceDefinition")
_FATAL_WARNINGS = ("schema.unknown-field", "rayservice-config-checked", "requests-within-limits")


def load_judged(filename: str, settings: Settings) -> list[JsonObject]:
    """In the order in which they are applied. Raises CommandError."""
    documents = load_documents([filename])
    is_refused = False
    for document in documents:
        for problem in review(document.tree, settings).problems if is_ray_document(document.tree) else ():
            say(format_finding(document, problem), sys.stderr)
            is_refused |= _is_fatal(problem)
    if is_refused:
        raise CommandError("the file is refused, and nothing was started: correct what is told above", 1)
    for document in documents:
        check_identity(document)
    trees = sorted((document.tree for document in documents), key=_turn)
    count = Counter(tree.get("kind") for tree in trees)
    wanted = sum(count[kind] for kind in _RUN)
    if wanted > 1 or (not wanted and count[RAY_CLUSTER] != 1):
        raise CommandError(f"{filename} must hold exactly one RayCluster, one RayJob or one RayService", 1)
    return trees


def find_main(trees: Iterable[JsonObject]) -> JsonObject:
    """What is run of them: a RayJob or a RayService, and otherwise the RayCluster."""
    return max((tree for tree in trees if tree.get("kind") in _LAST), key=lambda tree: _LAST[str(tree["kind"])])


def _turn(tree: JsonObject) -> int:
    """What others need goes first, and what runs Ray last: it starts with its Secrets, ConfigMaps and Redis there."""
    kind = tree.get("kind")
    return 0 if kind in _FIRST else _LAST.get(str(kind), 1)


def _is_fatal(problem: Problem) -> bool:
    return problem.severity == "error" or problem.rule in _FATAL_WARNINGS
