"""``python -m heliostat.testing.scripted_ray [--port N] [--strict]``: a scripted Ray as a program, until it is stopped.

It prints its port. ``GET /-/accepted`` tells every submission that it took, ``/-/asked`` how often it was asked for
anything. A dashboard with a service of the name that ``--stuck`` gives (its beginning is enough) never answers.
"""

import argparse
import asyncio
import sys
import time

from msgspec import structs

from heliostat.testing.scripted_ray import RECORDED, STRICT, Hang, ScriptedCluster, ScriptedRay, serve_ray


class _PartlyStuckRay(ScriptedRay):
    stuck = ""

    def cluster(self, name: str) -> ScriptedCluster:
        is_new = name not in self.clusters
        cluster = super().cluster(name)
        if is_new and self.stuck and name.partition("/")[2].startswith(self.stuck):
            cluster.disturb(Hang())
        return cluster


async def _serve(options: argparse.Namespace) -> None:
    script = structs.replace(STRICT if options.strict else RECORDED, ends_after=options.job_seconds)
    ray = _PartlyStuckRay(time.time, script)
    ray.stuck = options.stuck
    async with serve_ray(ray, options.port) as bound:
        sys.stdout.write(f"{bound}\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().create_future()


def main() -> None:
    parser = argparse.ArgumentParser(description="A Ray that follows a script, on one port of this machine.")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free; it is printed")
    parser.add_argument("--strict", action="store_true", help="only what was submitted is there")
    parser.add_argument("--job-seconds", type=float, default=RECORDED.ends_after, help="how long a job takes")
    parser.add_argument("--stuck", default="", help="services whose names begin so never answer")
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
