"""``heliostat explain``: why an object is not ready, in sentences, each with what to do about it."""

import argparse
import sys
import time

from heliostat.api.kinds import GROUP
from heliostat.api.settings import Settings
from heliostat.cli.cluster_access import Cluster, add_cluster_flags, run_on_cluster
from heliostat.cli.errors import CommandError, MissingObjectError, UnreachableError
from heliostat.cli.gone_objects import GoneObjects, Wanted
from heliostat.cli.inputs import parse_arguments
from heliostat.cli.scenes import fetch_around, fetch_events, fetch_scene
from heliostat.cli.served_kinds import fetch_kinds
from heliostat.cli.targets import parse_targets
from heliostat.kube.resource_types import ResourceType
from heliostat.plan.explain_cluster import explain_cluster
from heliostat.plan.explain_objects import explain_object
from heliostat.plan.explanation import Explanation, format_explanation
from heliostat.plan.observed import ObservationError


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="heliostat explain",
        description="Say why an object is not ready, and what to do about it. For a RayCluster the operator's own plan"
        " is made from what is there now (give the operator's flags if it has any); Pods, Jobs and other kinds are"
        " explained from their conditions, events and Pods; of one that is gone, when it became what. The"
        " exit code is 0 when all of them are ready, else 1.",
        allow_abbrev=False,
    )
    parser.add_argument("target", nargs="+", metavar="KIND/NAME", help="such as raycluster/demo, pod/x, job/y")
    add_cluster_flags(parser)
    options, operator_flags = parser.parse_known_args(arguments)
    _, settings = parse_arguments(argparse.ArgumentParser(prog=parser.prog), operator_flags)
    targets = parse_targets(options.target)
    gone = GoneObjects(options.kubeconfig)
    try:
        return run_on_cluster(options, lambda cluster: _explain(cluster, targets, settings, gone))
    except UnreachableError as error:
        namespace = options.namespace or "default"
        timelines = [_remember(gone, word, name, namespace, error) for word, name in targets]
        print("\n\n".join(timelines))
        return 1


async def _explain(cluster: Cluster, targets: list[tuple[str, str]], settings: Settings, gone: GoneObjects) -> int:
    kinds = await fetch_kinds(cluster.client)
    texts, are_ready = [], True
    for word, name in targets:
        try:
            explanation = await explain_one(cluster, kinds.meant_by(word), name, settings)
        except MissingObjectError as error:
            texts.append(_remember(gone, word, name, cluster.namespace, error))
            are_ready = False
        else:
            texts.append(format_explanation(explanation))
            are_ready = are_ready and explanation.is_ready
    print("\n\n".join(texts))
    sys.stdout.flush()
    return 0 if are_ready else 1


def _remember(gone: GoneObjects, word: str, name: str, namespace: str, error: CommandError) -> str:
    """The timeline of the last one of that name, or the error that there is none."""
    found = gone.find(Wanted(words=(word,), names=(name,), namespace=namespace))
    if not found:
        raise error
    return gone.tell_timeline(found[0])


async def explain_one(cluster: Cluster, resource: ResourceType, name: str, settings: Settings) -> Explanation:
    tree = await cluster.fetch_object(resource, name)
    if resource.kind == "RayCluster" and resource.group == GROUP:
        scene = await fetch_scene(cluster, tree, settings, time.time())
        try:
            return explain_cluster(scene, settings)
        except ObservationError as error:
            raise CommandError(f"the cluster shows an object that cannot be read: {error}", 1) from None
    namespace = str(tree["metadata"].get("namespace", ""))
    around = await fetch_around(cluster, namespace)
    return explain_object(tree, around, await fetch_events(cluster, namespace))
