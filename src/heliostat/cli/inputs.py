"""What every command that reads documents shares: ``-f``, the operator's flags, and files turned into documents."""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path as FilePath

from heliostat.api.settings import Settings
from heliostat.cli.errors import CommandError
from heliostat.kube.documents import Document, DocumentError, read_documents
from heliostat.operator.flags import FLAG_HELP, OperatorFlags, UsageError, build_settings, parse_flags

_SUFFIXES = (".yaml", ".yml", ".json")


def build_parser(command: str, description: str) -> argparse.ArgumentParser:
    flags = "\n".join(f"  --{name}={help_text}" for name, help_text in FLAG_HELP.items())
    parser = argparse.ArgumentParser(
        prog=f"heliostat {command}",
        description=description,
        epilog=f"the operator's flags, as KubeRay takes them:\n{flags}\nIts environment variables count too.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "-f",
        "--filename",
        action="append",
        required=True,
        metavar="FILE|DIR|-",
        help="documents to read: a file, a directory (its .yaml, .yml and .json files) or - for standard input",
    )
    parser.add_argument("-n", "--namespace", default="default", help="for documents that name none (default: default)")
    return parser


def parse_arguments(parser: argparse.ArgumentParser, arguments: list[str]) -> tuple[argparse.Namespace, Settings]:
    try:
        flags, own = parse_flags(arguments)
        return parser.parse_args(own), build_settings(flags, os.environ, _read_config(flags))
    except UsageError as error:
        raise CommandError(str(error)) from None


def _read_config(flags: OperatorFlags) -> dict[str, object] | None:
    if not flags.config:
        return None
    try:
        documents = read_documents(_read_bytes(FilePath(flags.config)), flags.config)
    except DocumentError as error:
        raise CommandError(f"cannot read the configuration: {error}") from None
    if len(documents) != 1 or not isinstance(documents[0].tree, dict):
        raise CommandError(f"{flags.config} must hold one configuration document")
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
