"""``make demo``: from a YAML file to a result, with real Ray, on a machine that has no Kubernetes and no containers.

It types what a person would: first the plan, then ``heliostat run`` with a program. Everything it starts it stops.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HELIOSTAT = Path(sys.executable).with_name("heliostat")
EXAMPLE = "examples/raycluster.yaml"
RUN = ("run", EXAMPLE, "--ephemeral", "--working-dir", "examples", "--", "python", "pi.py")


def show(*arguments: str, **environment: str) -> None:
    """Print the command as typed and run it; the demo fails with it."""
    print(f"\n$ {' '.join(('heliostat', *arguments))}", flush=True)
    subprocess.run([HELIOSTAT, *arguments], cwd=ROOT, check=True, env=os.environ | environment)


def main() -> None:
    show("plan", "-f", EXAMPLE)
    state = Path(tempfile.mkdtemp(prefix="heliostat-demo-"))
    try:
        show(*RUN, HELIOSTAT_STATE=str(state))
    finally:
        purge = [str(HELIOSTAT), "down", "--purge", "--state", str(state)]
        subprocess.run(purge, check=False, capture_output=True)
        shutil.rmtree(state, ignore_errors=True)
    print("\nA control plane was started, a RayCluster came up with real Ray, a program ran on it; nothing is left.")


if __name__ == "__main__":
    main()
