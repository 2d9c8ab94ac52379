"""``make demo``: the commands a person would type, with their output. No cluster is needed.

A RayCluster is validated, rendered and planned; then the plan is asked again with everything in place, and once
more for an edit that scales it up.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HELIOSTAT = Path(sys.executable).with_name("heliostat")
EXAMPLE = "examples/raycluster.yaml"


def run(*arguments: str, shown: str | None = None) -> str:
    """Print the command as typed, run it, and return what it printed; the demo fails with it."""
    print(f"\n$ {shown or ' '.join(('heliostat', *arguments))}", flush=True)
    result = subprocess.run(
        [HELIOSTAT, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    return result.stdout


def main() -> None:
    print("A RayCluster, from YAML to what the operator would do, without a cluster.")
    print(run("validate", "-f", EXAMPLE), end="")
    rendered = run("render", "-f", EXAMPLE)
    print("\n".join(rendered.splitlines()[:24]))
    print(f"… {len(rendered.splitlines())} lines in all")
    print(run("plan", "-f", EXAMPLE), end="")
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder) / "there.yaml"
        there.write_text(f"{(ROOT / EXAMPLE).read_text()}---\n{rendered}")
        print(
            run(
                "plan",
                "-f",
                EXAMPLE,
                "--against",
                str(there),
                shown=f"heliostat plan -f {EXAMPLE} --against there.yaml",
            ),
            end="",
        )
        edited = Path(folder) / "edited.yaml"
        edited.write_text((ROOT / EXAMPLE).read_text().replace("replicas: 1", "replicas: 3"))
        shown = "sed 's/replicas: 1/replicas: 3/' examples/raycluster.yaml | heliostat plan -f - --against there.yaml"
        print(run("plan", "-f", str(edited), "--against", str(there), shown=shown), end="")
    print("\nThe example is valid, and every step above is a pure function of its input.")


if __name__ == "__main__":
    main()
