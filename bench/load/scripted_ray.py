"""The scripted Ray as a process of its own, for the benchmarks: all dashboards on one port of this machine."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from load.targets import ROOT, environment

STUCK = "stuck"


@contextmanager
def scripted_ray(*options: str) -> Iterator[str]:
    """Its address; the dashboards of clusters whose name begins with ``stuck`` never answer."""
    command = [sys.executable, "-m", "heliostat.testing.scripted_ray", *options, f"--stuck={STUCK}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment()) as process:
        assert process.stdout is not None
        try:
            yield f"127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()
