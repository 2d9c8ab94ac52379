"""ray.io objects of the cluster as documents: what is there, as if somebody gave it in a file."""

import argparse

from heliostat.api.kinds import GROUP
from heliostat.cli.cluster_access import Cluster, run_on_cluster
from heliostat.cli.errors import CommandError
from heliostat.cli.served_kinds import fetch_kinds
from heliostat.cli.targets import find_target, parse_targets
from heliostat.kube.documents import Document, read_documents
from heliostat.kube.jsontree import encode_json


async def fetch_documents(cluster: Cluster, words: list[str], what: str) -> list[Document]:
    """``what`` is done with them, for the words about one of another group."""
    kinds = await fetch_kinds(cluster.client)
    found: list[Document] = []
    for word, name in parse_targets(words):
        target = await find_target(cluster, kinds, word, name)
        place = f"{target.resource.kind.lower()}/{name}"
        if target.resource.group != GROUP:
            raise CommandError(f"only {what}; heliostat explain {place} tells how it is", 1)
        tree = await cluster.fetch_object(target.resource, name)
        found += read_documents(encode_json(tree), place)
    return found


def load_live_documents(options: argparse.Namespace, what: str) -> list[Document]:
    """Those that the targets name; asks no cluster when there are none."""
    found: list[Document] = []

    async def fetch(cluster: Cluster) -> int:
        found.extend(await fetch_documents(cluster, options.target, what))
        return 0

    if options.target:
        run_on_cluster(options, fetch)
    return found
