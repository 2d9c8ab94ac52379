"""``/submitter``: hands one job to Ray and follows its log, as KubeRay's lightweight submitter does (rayjob.md §8.3).

It runs in the Pod of a submitter Job, whose variables say where Ray is and which id the job has. Started again, it
finds the job under that id and only follows. Its exit code tells about the way to Ray and never about the job: 0 when
the log was followed to its end, 1 when something stood in the way, 2 for words that it does not know. What became of
the job is Ray's to tell.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO, TypeVar

import msgspec
from msgspec import Struct

from heliostat.ray.dashboard import RayDashboard, Submission
from heliostat.ray.ways import Way, open_direct_transport
from heliostat.runtime.errors import AlreadyExistsError, ApiError
from heliostat.runtime.transport import Transport

ADDRESS, ID, TOKEN = "RAY_DASHBOARD_ADDRESS", "RAY_JOB_SUBMISSION_ID", "RAY_AUTH_TOKEN"
SECONDS = 10.0  # for an answer; the log may take as long as the job does
_SCHEME = "http://"
_ADDS = {ADDRESS: "host and port of Ray's dashboard", ID: "the id that the job gets"}

T = TypeVar("T")


class SubmitterError(Exception):
    """What stands in the way, for the last line of the Pod's log."""


class Errand(Struct, frozen=True):
    address: str  # host and port, and a path if there is one
    submission: Submission
    token: str = ""


def read_errand(arguments: Sequence[str], environment: Mapping[str, str]) -> Errand:
    """Raises SubmitterError for values, and SystemExit for flags that do not exist."""
    given = _build_parser().parse_args(arguments)
    for name, what in _ADDS.items():
        if not environment.get(name):
            raise SubmitterError(f"the variable {name} is empty: the operator sets it; by hand, give it {what}")
    submission = Submission(
        submission_id=environment[ID],
        entrypoint=" ".join(given.entrypoint),
        runtime_env=_read_json("--runtime-env-json", given.runtime_env_json, dict[str, Any]),
        metadata=_read_json("--metadata-json", given.metadata_json, dict[str, str]),
        entrypoint_num_cpus=given.entrypoint_num_cpus,
        entrypoint_num_gpus=given.entrypoint_num_gpus,
        entrypoint_resources=_read_json("--entrypoint-resources", given.entrypoint_resources, dict[str, float]),
    )
    if not submission.entrypoint:
        raise SubmitterError("there is nothing to run: write it after the flags and --, as in -- python x.py")
    address = environment[ADDRESS].removeprefix(_SCHEME).rstrip("/")
    return Errand(address, submission, environment.get(TOKEN, ""))


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="submitter",
        allow_abbrev=False,
        description=f"Submit a job to Ray and follow its log. {ADDRESS} and {ID} say where and under which id.",
    )
    parser.add_argument("--runtime-env-json", default="", metavar="JSON", help="the runtime environment, an object")
    parser.add_argument("--metadata-json", default="", metavar="JSON", help="an object of names and texts")
    parser.add_argument("--entrypoint-num-cpus", default=0.0, type=float, metavar="NUMBER", help="CPUs of the driver")
    parser.add_argument("--entrypoint-num-gpus", default=0.0, type=float, metavar="NUMBER", help="GPUs of the driver")
    parser.add_argument("--entrypoint-resources", default="", metavar="JSON", help="an object of names and numbers")
    parser.add_argument("entrypoint", nargs="*", metavar="-- ENTRYPOINT", help="the command that Ray runs")
    return parser


def _read_json(flag: str, text: str, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(text or "{}", type=shape)
    except msgspec.DecodeError as error:
        raise SubmitterError(f"{flag} {text}: {error}") from None


async def submit_and_follow(errand: Errand, transport: Transport, out: TextIO) -> None:
    """Raises ApiError for whatever else Ray or the way there says."""
    id_ = errand.submission.submission_id
    dashboard = RayDashboard(Way(transport, f"//{errand.address}", SECONDS, SECONDS), token=errand.token)
    try:
        await dashboard.submit_job(errand.submission)
        _say(out, f"SUCC -- Job '{id_}' submitted successfully\n")
    except AlreadyExistsError:
        _say(out, f"INFO -- Job '{id_}' has already been submitted, tailing logs.\n")
    async for text in dashboard.tail_logs(id_):
        _say(out, text)
    _say(out, f"SUCC -- Job '{id_}' succeeded\n")


def _say(out: TextIO, text: str) -> None:
    out.write(text)
    out.flush()  # whoever follows the Pod's log reads along


async def run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    try:
        errand = read_errand(arguments, environment)
        transport = open_direct_transport("heliostat-submitter")
        try:
            await submit_and_follow(errand, transport, sys.stdout)
        finally:
            await transport.close()
    except (ApiError, SubmitterError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201  a program's own words
        return 1
    return 0


def main() -> int:
    return asyncio.run(run(sys.argv[1:], os.environ))


if __name__ == "__main__":
    sys.exit(main())
