"""How many files and connections a process may have open.

Shells allow 1,024 for the sake of programs from long ago, which a server with a thousand watchers exceeds; the limit
that the system sets for everybody is far above, and any process may go up to it.
"""

import resource

_ENOUGH = 16_384


def allow_many_open_files() -> int:
    """Raise the process's own limit as far as it makes sense and the system lets it; gives what it is now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(_ENOUGH, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
