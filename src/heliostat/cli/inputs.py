"""What every command that reads documents shares: ``-f``, the operator's flags, and files turned into documents."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path as FilePath

from heliostat.cli.errors import CommandError
from heliostat.cli.prose import fit
from heliostat.kube.documents import Document, DocumentError, read_documents
from heliostat.operator.flags import FLAG_HELP

_SUFFIXES = (".yaml", ".yml", ".json")


class _LinewiseHelp(argparse.HelpFormatter):
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Each line on its own: the operator's flags stay a list."""
        flow = super()._fill_text
        return "\n".join(
            fit(line, width) if line.startswith(" ") else flow(line, width, indent) for line in text.split("\n")
        )


def build_parser(command: str, description: str) -> argparse.ArgumentParser:
    """Documents, or objects of the cluster by their names."""
    flags = "\n".join(f"  --{name}={help_text}" for name, help_text in FLAG_HELP.items())
    parser = argparse.ArgumentParser(
        prog=f"heliostat {command}",
        description=description,
        epilog=f"the operator's flags, as KubeRay takes them:\n{flags}\nIts environment variables count too.",
        formatter_class=_LinewiseHelp,
        allow_abbrev=False,
    )
    add_filename_flag(parser)
    parser.add_argument(
        "target",
        nargs="*",
        metavar="FILE|RAYCLUSTER",
        help="a file, as with -f, or objects of the cluster: KIND/NAME",
    )
    return parser


def add_filename_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f",
        "--filename",
        action="append",
        default=[],
        metavar="FILE|DIR|-",
        help="documents to read: a file, a directory (its .yaml, .yml and .json files) or - for standard input",
    )


def is_file(word: str) -> bool:
    """By its name: no object is called so."""
    return word == "-" or word.endswith((*_SUFFIXES, "/"))


def take_files(options: argparse.Namespace) -> None:
    """What stands among the targets and is a file by its name: ``heliostat plan cluster.yaml``."""
    files = [word for word in options.target if is_file(word)]
    options.filename = [*options.filename, *files]
    options.target = [word for word in options.target if word not in files]


def check_inputs(options: argparse.Namespace) -> None:
    """Raises CommandError unless there are either documents or names."""
    take_files(options)
    if bool(options.filename) == bool(options.target):
        raise CommandError("name either documents (FILE, or -f FILE|DIR|-) or objects of the cluster (raycluster/NAME)")


def load_named(options: argparse.Namespace, what: str) -> list[Document]:
    """Objects of the cluster that are targets; ``what`` is done with them."""
    if not options.target:
        return []
    from heliostat.cli.live_documents import load_live_documents  # whoever reads files alone starts sooner

    return load_live_documents(options, what)


def require_files(options: argparse.Namespace) -> None:
    """Files may be named with and without ``-f``. Raises CommandError when there are none."""
    options.filename = [*options.filename, *options.file]
    if not options.filename:
        raise CommandError("no documents: name a file, a directory or - for standard input with -f")


def read_config(path: str) -> dict[str, object] | None:
    """What the operator's ``--config`` names; None when that is nothing."""
    if not path:
        return None
    try:
        documents = read_documents(_read_bytes(FilePath(path)), path)
    except DocumentError as error:
        raise CommandError(f"cannot read the configuration: {error}") from None
    if len(documents) != 1 or not isinstance(documents[0].tree, dict):
        raise CommandError(f"{path} must hold one configuration document")
    return documents[0].tree


def read_inputs(names: list[str]) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file meant; standard input is called ``-``."""
    for name in names:
        if name == "-":
            yield name, sys.stdin.buffer.read()
            continue
        path = FilePath(name)
        if path.is_dir():
            files = sorted(entry for entry in path.iterdir() if entry.suffix in _SUFFIXES and entry.is_file())
            if not files:
                raise CommandError(f"the directory {name} has no .yaml, .yml or .json file", 1)
            for file in files:
                yield str(file), _read_bytes(file)
        else:
            yield name, _read_bytes(path)


def _read_bytes(path: FilePath) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}", 1) from None


def load_documents(names: list[str]) -> list[Document]:
    """Every document, or a CommandError at the first file that cannot be read as YAML or JSON."""
    documents: list[Document] = []
    for name, content in read_inputs(names):
        try:
            documents += read_documents(content, name)
        except DocumentError as error:
            raise CommandError(str(error), 1) from None
    return documents
