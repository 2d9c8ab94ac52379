from typing import Any

import pytest

from heliostat.kube.core_objects import core_problems


def problems(tree: dict[str, Any]) -> list[str]:
    return [str(problem) for problem in core_problems(tree)]


def test_a_sound_object_has_none() -> None:
    assert problems({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}) == []


def test_wrong_types_and_unknown_fields_are_found() -> None:
    found = problems(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"prots": [], "type": 1}}
    )
    assert any(text.startswith("spec.prots") for text in found)
    assert any(text.startswith("spec.type") for text in found)


def test_a_kind_that_its_group_does_not_have_gets_a_hint() -> None:
    (problem,) = core_problems({"apiVersion": "apps/v1", "kind": "Deploymnet", "metadata": {"name": "a"}})
    assert problem.fix == "did you mean Deployment?"


@pytest.mark.parametrize("tree", [{}, {"kind": "Pod"}, {"apiVersion": "v1", "kind": ""}, {"apiVersion": 1, "kind": 2}])
def test_kind_and_version_are_required(tree: dict[str, Any]) -> None:
    assert any(text.endswith("is required") for text in problems(tree))


def test_kinds_of_other_groups_are_not_judged() -> None:
    assert problems({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "whatever": 1}) == []
