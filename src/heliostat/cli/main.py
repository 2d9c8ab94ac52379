"""``heliostat COMMAND …``: finds the command and imports only that one, so that each starts as fast as it can."""

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from types import ModuleType

from heliostat import __version__
from heliostat.cli.errors import INTERRUPTED, CommandError
from heliostat.cli.prose import say

COMMANDS = {
    "run": "bring a RayCluster, RayJob or RayService up here and follow it",
    "up": "start a Kubernetes with the operator here, Pods as processes",
    "down": "stop it, and everything in its Pods",
    "status": "show whether it is up, and the state of its processes",
    "apply": "create or change objects as documents say, checked first",
    "get": "show RayClusters with their Pods, or objects of any kind",
    "explain": "tell why an object is not ready, and what to do about it",
    "logs": "print the log of a container",
    "exec": "run a command in a container",
    "dashboard": "open the dashboard of a RayCluster at an address of this machine",
    "expose": "open a RayService or a Gateway at an address of this machine",
    "delete": "delete objects and wait until they are gone",
    "kubeconfig": "print where the local cluster's kubeconfig is",
    "validate": "find every problem in ray.io documents, with line and fix",
    "render": "print every object the operator would create from nothing",
    "plan": "print what the operator would do next, and why",
    "operator": "run the operator against any Kubernetes",
    "crds": "print the CustomResourceDefinitions",
    "apiserver": "run the embedded Kubernetes API server",
    "node": "make this machine a node of any API server",
    "controllers": "run Kubernetes' own controllers against any API server",
}


_SLOW = ("run", "up", "down", "dashboard", "expose")


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name.ljust(width)}  {help_text}" for name, help_text in COMMANDS.items()]
    return "\n".join(
        (
            "usage: heliostat COMMAND [OPTIONS]",
            "",
            "Heliostat steers Rays: a drop-in operator for ray.io objects.",
            "",
            *lines,
            "",
            "heliostat COMMAND --help tells more; heliostat --version prints the version.",
        )
    )


def main(argv: list[str] | None = None) -> int:
    _spell_what_cannot_be_shown()
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else 2
    if arguments[0] in ("--version", "version"):
        print(f"heliostat {__version__}")
        return 0
    name = arguments[0]
    if name not in COMMANDS:
        from heliostat.kube.nearest import nearest_name

        meant = nearest_name(name, COMMANDS)
        hint = f"did you mean {meant}?" if meant else f"commands are {', '.join(COMMANDS)}"
        print(f"heliostat: unknown command {name!r}; {hint}", file=sys.stderr)
        return 2
    _show_life(name)
    try:
        code: int = _import_command(name).run(arguments[1:])
        sys.stdout.flush()
    except CommandError as error:
        say(f"heliostat {name}: {error}", sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough (`heliostat render … | head`). Python would complain again when it flushes at exit.
        sys.stdout = None
        return 0
    return code


def _spell_what_cannot_be_shown() -> None:
    """As Python does on standard error: a mark that the locale does not have is no reason to end with a traceback."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _show_life(name: str) -> None:
    """On a terminal, at once: loading what these need takes half a second. What they write goes over it."""
    if name in _SLOW and sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write("…\r")
        sys.stderr.flush()


def _import_command(name: str) -> ModuleType:
    """aiohttp reads the system's certificate authorities when it is imported, for contexts that nobody here uses.

    That is 60 ms and 2 MB of every process, so it finds none. Where a kubeconfig asks for them they are read later.
    """
    nowhere = dict.fromkeys(("SSL_CERT_FILE", "SSL_CERT_DIR"), os.devnull)
    before = {key: os.environ[key] for key in nowhere if key in os.environ}
    os.environ.update(nowhere)
    try:
        return import_module(f"heliostat.cli.{name}")
    finally:
        for key in nowhere:
            del os.environ[key]
        os.environ.update(before)


if __name__ == "__main__":
    sys.exit(main())
