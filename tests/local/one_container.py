"""A program for tests: one container in a sandbox, in a user namespace of the user who runs this, to its end.

Its arguments are a directory that it makes and a script for the shell; it tells what the script wrote, or why it did
not run.
"""

import asyncio
import sys
from pathlib import Path

from heliostat.embedded.node.isolating.sandbox import SandboxSpec, start_sandbox
from heliostat.embedded.node.shim import identity, syscalls
from heliostat.embedded.node.shim.protocol import Mount, Order


async def run(directory: Path, script: str) -> str:
    volume, work, log = directory / "volume", directory / "work", directory / "log"
    for each in (volume, work):
        each.mkdir(parents=True)
    order = Order(
        id="c-0",
        name="c",
        argv=("/bin/sh", "-c", script),
        environment={"PATH": "/usr/bin:/bin", "HOME": "/root"},
        work=str(work),
        log=str(log),
        directory="/srv/heliostat-work",
        mounts=(Mount(str(volume), "/usr/share/heliostat/volume"),),
    )
    sandbox = await start_sandbox(SandboxSpec(directory=directory, hostname="one"))
    over = asyncio.Event()
    sandbox.on_change(lambda run: over.set() if run.is_over else None)
    try:
        await sandbox.start(order)
        await over.wait()
        lines = [line.split(" ", 3)[3] for line in log.read_text().splitlines()]
        return "\n".join((sandbox.runs()["c-0"].error, *lines))
    finally:
        await sandbox.stop()
        await sandbox.close()


if __name__ == "__main__":
    identity.enter_new_users(flags=syscalls.NEW_MOUNTS)
    sys.stdout.write(asyncio.run(run(Path(sys.argv[1]), sys.argv[2])))
