"""``heliostat explain``: why an object is not ready, in sentences, each with what to do about it."""

import argparse
import sys
import time

from heliostat.api.kinds import GROUP
from heliostat.api.settings import Settings
from heliostat.cli.cluster_access import Cluster, run_on_cluster
from heliostat.cli.errors import CommandError, MissingObjectError, UnreachableError
from heliostat.cli.gone_objects import GoneObjects, Wanted
from heliostat.cli.inputs import add_filename_flag, load_documents, take_files
from heliostat.cli.judging import GivenSettings, parse_on_cluster
from heliostat.cli.prose import say
from heliostat.cli.scenes import fetch_around, fetch_events, fetch_scene
from heliostat.cli.served_kinds import fetch_kinds
from heliostat.cli.targets import Target, find_target, parse_targets, target_of_document
from heliostat.cli.which_cluster import add_cluster_flags
from heliostat.explain.explanation import Explanation, format_explanation
from heliostat.explain.objects import explain_object
from heliostat.explain.scene import explain
from heliostat.kube.documents import Document
from heliostat.plan.kinds import KINDS
from heliostat.plan.observing import ObservationError


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="heliostat explain",
        description="Say why an object is not ready, and how to fix it. For ray.io objects the operator's own reconcile"
        " is planned against the live cluster (give the operator's flags if it has any); Pods, Jobs and other kinds"
        " are explained from their conditions, events and Pods; a deleted one by its timeline. The exit code is 0"
        " when all of them are ready, else 1.",
        allow_abbrev=False,
    )
    parser.add_argument("target", nargs="*", metavar="KIND/NAME", help="such as raycluster/demo, pod/x, job/y, or demo")
    add_filename_flag(parser)
    add_cluster_flags(parser)
    options, given = parse_on_cluster(parser, arguments)
    take_files(options)
    if bool(options.filename) == bool(options.target):
        raise CommandError("name either objects (KIND/NAME, or the name of a RayCluster) or files (-f FILE)")
    documents = load_documents(options.filename)
    targets = parse_targets(options.target) if options.target else []
    gone = GoneObjects(options.kubeconfig)
    try:
        return run_on_cluster(options, lambda cluster: _explain(cluster, documents, targets, given, gone))
    except UnreachableError as error:
        namespace = options.namespace or "default"
        timelines = [_remember(gone, word, name, namespace, error) for word, name in targets]
        if not timelines:
            raise
        say(f"only what this machine remembers: {error}", sys.stderr)
        say("\n\n".join(timelines))
        return 1


async def _explain(
    cluster: Cluster,
    documents: list[Document],
    targets: list[tuple[str, str]],
    given: GivenSettings,
    gone: GoneObjects,
) -> int:
    kinds, settings = await fetch_kinds(cluster.client), given.on(cluster.local)
    meant = [target_of_document(kinds, document) for document in documents]
    pairs = [(target.resource.kind, target.name, target) for target in meant]
    texts, are_ready = [], True
    for word, name, known in [*pairs, *((word, name, None) for word, name in targets)]:
        try:
            target = known or await find_target(cluster, kinds, word, name)
            explanation = await explain_one(cluster, target, settings)
        except MissingObjectError as error:
            texts.append(_remember(gone, word, name, cluster.namespace, error))
            are_ready = False
            if cluster.local is None:
                say(f"only what this machine remembers: {error}", sys.stderr)
        else:
            texts.append(format_explanation(explanation))
            are_ready = are_ready and explanation.is_ready
    say("\n\n".join(texts))
    return 0 if are_ready else 1


def _remember(gone: GoneObjects, word: str, name: str, namespace: str, error: CommandError) -> str:
    """The timeline of the last one of that name, or the error that there is none."""
    found = gone.find(Wanted(words=(word,) if word else (), names=(name,), namespace=namespace))
    if not found:
        raise error
    return gone.tell_timeline(found[0])


async def explain_one(cluster: Cluster, target: Target, settings: Settings) -> Explanation:
    resource = target.resource
    tree = await cluster.fetch_object(resource, target.name, target.namespace)
    kind = KINDS.get(resource.kind) if resource.group == GROUP else None
    if kind is not None:
        try:
            return explain(kind, await fetch_scene(cluster, tree, settings, time.time()), settings)
        except ObservationError as error:
            raise CommandError(f"the cluster shows an object that cannot be read: {error}", 1) from None
    namespace = str(tree["metadata"].get("namespace", ""))
    around = await fetch_around(cluster, namespace)
    return explain_object(tree, around, await fetch_events(cluster, namespace))
