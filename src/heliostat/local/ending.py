"""``python -m heliostat.local.ending DIRECTORY``: ends everything that runs in Pods of a node, for the supervisor."""

import asyncio
import sys
from pathlib import Path

from heliostat.embedded.doors.leftovers import end_all_pods

if __name__ == "__main__":
    asyncio.run(end_all_pods(Path(sys.argv[1])))
