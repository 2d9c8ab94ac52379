"""What ``heliostat validate`` costs: the whole command against an empty program with the same libraries, and in bulk.

The bar is 2x of ``python -c "import msgspec, yaml"``, both measured alternately in the same run.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from heliostat.api.review import review
from heliostat.api.settings import Settings
from heliostat.kube.documents import read_documents

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 21
BAR = 2.0
BULK = 1_000


def biggest_sample() -> Path:
    """The largest of KubeRay's samples where they are at hand, else of our own examples."""
    goldens = Path(os.environ.get("HELIOSTAT_GOLDENS", ROOT.parent / "shared" / "goldens"))
    samples = [*(goldens / "samples").glob("*.input.yaml"), *(ROOT / "examples").glob("*.yaml")]
    return max(samples, key=lambda path: path.stat().st_size)


def seconds(command: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def bench_command(sample: Path) -> float:
    empty = [sys.executable, "-c", "import msgspec, yaml"]
    validate = [str(Path(sys.executable).with_name("heliostat")), "validate", "-f", str(sample)]
    with tempfile.TemporaryDirectory() as compiled:
        # Python keeps what it has compiled, here in a place of its own, whatever this shell says about it.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for command in (empty, validate):
            seconds(command, environment)
        pairs = [(seconds(empty, environment), seconds(validate, environment)) for _ in range(ROUNDS)]
    base, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f'python -c "import msgspec, yaml"   {base * 1000:6.0f} ms  1.0x')
    size = sample.stat().st_size
    print(f"heliostat validate ({size:,} bytes)   {ours * 1000:6.0f} ms  {ours / base:.2f}x  (bar {BAR}x)")
    return float(ours / base)


def bench_bulk(sample: Path) -> None:
    """Reading, checking and judging many documents in one process, with its peak memory."""
    text = "\n---\n".join([sample.read_text()] * BULK)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    documents = read_documents(text, "bulk")
    read = time.perf_counter() - start
    problems = sum(len(review(document.tree, Settings()).problems) for document in documents)
    total = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{len(documents):,} documents ({len(text) / 1e6:.1f} MB): read in {read:.2f} s", end="")
    print(f", read and validated in {total:.2f} s ({total / read:.1f}x of reading), {problems} problems", end="")
    print(f", peak {peak / 1024:.0f} MB (+{(peak - before) / 1024:.0f} MB)")


def main() -> int:
    sample = biggest_sample()
    ratio = bench_command(sample)
    bench_bulk(sample)
    return 1 if ratio > BAR else 0


if __name__ == "__main__":
    sys.exit(main())
