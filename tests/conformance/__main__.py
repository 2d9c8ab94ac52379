"""``python -m conformance``: put the suite to servers and tell the differences. Run it from the repository's root.

record     start a real kube-apiserver and keep its answers in recorded/
recorded   compare our server with what is kept
real       compare our server with a real one, live, on the kept sequences and on fresh generated ones
kubectl    run the kubectl script on ours, or with --record on the real one to keep its output
controllers   the same three (record, recorded, real) for scenarios of controllers and the scheduler
operator   the RayCluster cases recorded from KubeRay, through the operator on a real control plane
servers    the operator on real servers that stream lists, and on ones that do not
"""

import argparse
import asyncio
import random
import sys
import traceback
from collections.abc import Sequence as Many
from contextlib import AbstractAsyncContextManager

from msgspec import structs

from conformance.catalogue import HANDWRITTEN
from conformance.controllers.commands import run_controllers
from conformance.differ import compare
from conformance.generator import generate_many
from conformance.known_differences import unexplained
from conformance.kubectl_script import differing_outcomes, load_outcomes, run_script, save_outcomes
from conformance.model import Sequence
from conformance.operator.commands import run_operator
from conformance.own import OPTIONS
from conformance.recording import Recording, load_recordings, save_recordings
from conformance.report import causes, group, shape, summarize
from conformance.runner import record
from conformance.shrinking import shrink
from conformance.suite import install_custom_kinds, record_all
from conformance.suites import KEPT_COUNT, kept_suites
from conformance.targets import Target
from heliostat.testing import api_server_in_thread

SHRUNK = 5  # how many differing sequences of a run are made small
ABREAST = 8


def _own(name: str, bugs: list[BaseException]) -> AbstractAsyncContextManager[Target]:
    from conformance.own import embedded_target, memory_target

    return memory_target(bugs) if name == "memory" else embedded_target(bugs)


async def _record() -> int:
    from conformance.real import real_target

    async with real_target() as target:
        await install_custom_kinds(target)
        for suite, sequences in kept_suites().items():
            recordings = await record_all(sequences, target, abreast=ABREAST)
            path = save_recordings(suite, recordings)
            print(f"{len(recordings)} sequences in {path.name}, {path.stat().st_size:,} bytes")
    return 0


async def _recorded(target_name: str, names: Many[str]) -> int:
    chosen = [one for suite in kept_suites().values() for one in suite if not names or one.name in names]
    kept = {name: recording for suite in kept_suites() for name, recording in load_recordings(suite).items()}
    bugs: list[BaseException] = []
    async with _own(target_name, bugs) as target:
        await install_custom_kinds(target)
        given = await record_all(chosen, target, kept, ABREAST)
    return _tell(chosen, kept, given, bugs)


async def _real(target_names: Many[str], seed: int, count: int) -> int:
    from conformance.real import real_target

    print(f"seed {seed}, {count} generated sequences")
    chosen = [*HANDWRITTEN.values(), *generate_many(seed, count)]
    code = 0
    async with real_target() as real:
        await install_custom_kinds(real)
        wanted = await record_all(chosen, real, abreast=ABREAST)
        for name in target_names:
            bugs: list[BaseException] = []
            async with _own(name, bugs) as own:
                await install_custom_kinds(own)
                given = await record_all(chosen, own, wanted, ABREAST)
                print(f"== {name}")
                code |= _tell(chosen, wanted, given, bugs)
                await _show_small(chosen, wanted, given, real, own)
    return code


def _tell(
    chosen: Many[Sequence], wanted: dict[str, Recording], given: dict[str, Recording], bugs: Many[BaseException]
) -> int:
    found = [one for sequence in chosen for one in compare(sequence, wanted[sequence.name], given[sequence.name])]
    left = [one for sequence in chosen for one in unexplained(sequence, wanted[sequence.name], given[sequence.name])]
    print(summarize(causes(left)))
    for bug in bugs:
        print("".join(traceback.format_exception(bug)[-3:]))
    differing = {one.sequence for one in left}
    print(
        f"{len(left)} differences, {len(group(causes(left)))} kinds of causes,"
        f" in {len(differing)} of {len(chosen)} sequences;"
        f" {len(found) - len(left)} known ones; {len(bugs)} bugs met"
    )
    return 1 if left or bugs else 0


async def _show_small(
    chosen: Many[Sequence], wanted: dict[str, Recording], given: dict[str, Recording], real: Target, own: Target
) -> None:
    """Differing generated sequences, made small."""
    differing = [
        one for one in chosen if one.name not in HANDWRITTEN and unexplained(one, wanted[one.name], given[one.name])
    ]
    for sequence in differing[:SHRUNK]:
        wanted_shape = shape(unexplained(sequence, wanted[sequence.name], given[sequence.name])[0])

        async def still(smaller: Sequence, wanted_shape: tuple[str, str, str] = wanted_shape) -> bool:
            left = unexplained(smaller, await record(smaller, real), await record(smaller, own))
            return any(shape(one) == wanted_shape for one in left)

        small = await shrink(structs.replace(sequence, name=f"{sequence.name}-{own.name}"), still)
        print(f"-- {sequence.name} shrunk from {len(sequence.steps)} to {len(small.steps)} steps:")
        for step in small.steps:
            print(f"   {step}")


def _kubectl(*, records: bool) -> int:
    if records:
        from tools.kubernetes.run import ControlPlane

        with ControlPlane.started() as cluster:
            print(f"kept in {save_outcomes(run_script(cluster.kubeconfig)).name}")
        return 0
    with api_server_in_thread(OPTIONS) as server:
        given = run_script(server.kubeconfig)
        for bug in server.bugs:
            print("".join(traceback.format_exception(bug)[-3:]))
        server.bugs.clear()
    texts = differing_outcomes(load_outcomes(), given)
    print("\n".join([*texts, f"{len(texts)} of {len(given)} commands differ"]))
    return 1 if texts else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record", help="keep the answers of a real kube-apiserver")
    recorded = commands.add_parser("recorded", help="compare with what is kept")
    recorded.add_argument("--target", choices=("memory", "embedded"), default="memory")
    recorded.add_argument("names", nargs="*", help="of sequences; all by default")
    real = commands.add_parser("real", help="compare with a real kube-apiserver, live")
    real.add_argument("--target", action="append", choices=("memory", "embedded"))
    real.add_argument("--seed", type=int, default=random.randrange(1_000_000))  # noqa: S311 - printed, to repeat it
    real.add_argument("--count", type=int, default=KEPT_COUNT)
    kubectl = commands.add_parser("kubectl", help="the kubectl script")
    kubectl.add_argument("--record", action="store_true", help="on a real kube-apiserver, to keep what it says")
    controllers = commands.add_parser("controllers", help="scenarios of controllers and the scheduler")
    controllers.add_argument("what", choices=("record", "recorded", "real"))
    controllers.add_argument("names", nargs="*", help="of scenarios or groups; all by default")
    operator = commands.add_parser("operator", help="recorded RayCluster cases through the operator")
    operator.add_argument("what", choices=("real",))
    operator.add_argument("names", nargs="*", help="of folders, cases (fuzz/vc001) or flows; all by default")
    servers = commands.add_parser("servers", help="the operator on servers that stream lists, and on ones that do not")
    servers.add_argument("names", nargs="*", help="of servers: usual, no-watch-list, oldest; all by default")
    chosen = parser.parse_args()
    if chosen.command == "servers":
        from conformance.operator.servers import run_servers

        return run_servers(chosen.names)
    if chosen.command == "operator":
        return run_operator(chosen.names)
    if chosen.command == "controllers":
        return run_controllers(chosen.what, chosen.names)
    if chosen.command == "kubectl":
        return _kubectl(records=chosen.record)
    if chosen.command == "record":
        return asyncio.run(_record())
    if chosen.command == "recorded":
        return asyncio.run(_recorded(chosen.target, chosen.names))
    return asyncio.run(_real(chosen.target or ("memory", "embedded"), chosen.seed, chosen.count))


if __name__ == "__main__":
    sys.exit(main())
