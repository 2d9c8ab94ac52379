"""A server may have more connections than a shell allows by default."""

import resource
import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
from heliostat.cli.open_files import allow_many_open_files

resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
print(allow_many_open_files(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        (1024, 4096, [4096, 4096, 4096]),
        (64, 64, [64, 64, 64]),
        (1024, 18_000, [16_384, 16_384, 18_000]),
        (17_000, 18_000, [17_000, 17_000, 18_000]),
    ],
)
def test_the_limit_is_raised_as_far_as_the_system_allows(soft: int, hard: int, expected: list[int]) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < hard:
        pytest.skip(f"this system lets nobody have more than {most} files open")
    command = [sys.executable, "-c", SCRIPT, str(soft), str(hard)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    assert [int(text) for text in output.split()] == expected
