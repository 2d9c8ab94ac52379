"""The one object that a command is about: by its name, or by a file that holds it, as everywhere else.

``heliostat exec cluster.yaml -- ray status`` is about the RayCluster of that file, in the namespace that it
names.
"""

import argparse
from collections.abc import Sequence

from heliostat.cli.errors import CommandError
from heliostat.cli.identity import check_identity
from heliostat.cli.inputs import is_file, load_documents
from heliostat.kube.titles import name_in, text_in_metadata

_FILE_HELP = "the object of this file, or of - for standard input, instead of a name"


def add_file_flag(parser: argparse.ArgumentParser, *, has_short: bool = True) -> None:
    """Where -f means something else already, there is only the long one."""
    parser.add_argument(*(("-f",) if has_short else ()), "--filename", default="", metavar="FILE|-", help=_FILE_HELP)


def take_words(options: argparse.Namespace, kinds: Sequence[str]) -> list[str]:
    """What the target is called: as it was written, or KIND/NAME of the first kind of ``kinds`` that its file has.

    Raises CommandError unless there is one target.
    """
    words = list(options.target)
    file = options.filename or (words.pop() if len(words) == 1 and is_file(words[0]) else "")
    if bool(file) == bool(words):
        raise CommandError(f"name one {' or '.join(kinds)}, or a file that has it")
    return [_name_in_file(options, file, kinds)] if file else words


def _name_in_file(options: argparse.Namespace, file: str, kinds: Sequence[str]) -> str:
    documents = load_documents([file])
    by_kind = ([each for each in documents if each.tree.get("kind") == kind] for kind in kinds)
    found = next((each for each in by_kind if each), [])
    if len(found) != 1:
        many = f"{len(found)} of them" if found else "none"
        raise CommandError(f"{file}: one {' or '.join(kinds)} is meant, and it has {many}", 1)
    check_identity(found[0])
    options.namespace = options.namespace or text_in_metadata(found[0].tree, "namespace")
    return f"{found[0].tree['kind'].lower()}/{name_in(found[0].tree)}"
