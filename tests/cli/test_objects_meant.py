"""Commands about one object take its name or a file that has it: one grammar for all of them."""

import argparse
from pathlib import Path

import pytest

from cli.typed_commands import EXAMPLE, example, write
from heliostat.cli.errors import CommandError
from heliostat.cli.objects_meant import take_words


def options(*target: str, filename: str = "", namespace: str = "") -> argparse.Namespace:
    return argparse.Namespace(target=list(target), filename=filename, namespace=namespace)


def test_a_name_stays_as_it_was_written() -> None:
    assert take_words(options("raycluster", "demo"), ("RayCluster",)) == ["raycluster", "demo"]


def test_a_file_stands_for_its_object_in_its_namespace(tmp_path: Path) -> None:
    tree = example("demo")
    tree["metadata"]["namespace"] = "lab"
    file = write(tmp_path, tree)
    for given in (options(file), options(filename=file)):
        assert take_words(given, ("RayCluster", "Pod")) == ["raycluster/demo"]
        assert given.namespace == "lab"
    elsewhere = options(file, namespace="other")
    take_words(elsewhere, ("RayCluster",))
    assert elsewhere.namespace == "other"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (options(), "name one RayService or Gateway, or a file that has it"),
        (options("x", filename=str(EXAMPLE)), "name one RayService or Gateway, or a file that has it"),
        (options(str(EXAMPLE)), "one RayService or Gateway is meant, and it has none"),
        (options("none.yaml"), "cannot read none.yaml: No such file or directory"),
    ],
)
def test_anything_else_is_told(given: argparse.Namespace, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        take_words(given, ("RayService", "Gateway"))


def test_of_two_alike_in_one_file_neither_is_chosen(tmp_path: Path) -> None:
    both = write(tmp_path, "---\n".join([EXAMPLE.read_text()] * 2))
    with pytest.raises(CommandError, match="one RayCluster is meant, and it has 2 of them"):
        take_words(options(both), ("RayCluster",))
