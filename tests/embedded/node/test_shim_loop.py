"""The shim's loop: no end of a child is lost, however early it comes."""

import subprocess
import sys

PROGRAM = """
import os
from pathlib import Path
from heliostat.embedded.node.shim.loop import Loop

loop, heard = Loop(), []
ended = os.fork()
if not ended:
    os._exit(3)
while Path(f"/proc/{ended}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
    pass
other = os.fork()
if not other:
    os._exit(0)
loop.when_ended(other, lambda status: loop.stop())
loop.run()  # collects both, though nobody has asked about the first
loop.when_ended(ended, heard.append)
print([os.waitstatus_to_exitcode(status) for status in heard])
"""


def test_an_end_that_comes_before_anybody_asks_is_told() -> None:
    """A container that ended while the shim was not scheduled stayed running for ever, and with it its Pod."""
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=30, check=False)
    assert result.stdout.strip() == "[3]", result.stderr
