"""What a container finds in its environment: the order of sources, ``$(NAME)``, references, and what is missing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.node.pod_shapes import UID, build_pod, container
from heliostat.embedded.node.environment import (
    MissingReferenceError,
    References,
    Surroundings,
    build_command,
    build_environment,
    expand,
)

AROUND = Surroundings(
    host_address="10.0.0.1",
    pod_address="10.244.0.2",
    node_allocatable={"cpu": "4", "memory": "8Gi"},
    service_variables={"KUBERNETES_SERVICE_HOST": "10.96.0.1", "WEB_SERVICE_HOST": "10.96.0.7"},
)
KNOWN = References({"map": {"a": "1", "not a name!": "2"}}, {"secret": {"word": "sesame"}})


def build(*env: dict[str, Any], env_from: tuple[dict[str, Any], ...] = (), **fields: Any) -> dict[str, str]:
    pod = build_pod(
        container(env=list(env), envFrom=list(env_from), **fields),
        metadata={"labels": {"app": "web"}, "annotations": {"note": 'a "b"\nc'}},
        serviceAccountName="robot",
    )
    return build_environment(pod, pod.spec.containers[0], KNOWN, AROUND)


def test_later_sources_win_and_see_the_earlier_ones() -> None:
    built = build(
        {"name": "a", "value": "mine"},
        {"name": "B", "value": "$(a)-$(WEB_SERVICE_HOST)-$(LATER)"},
        {"name": "LATER", "value": "x"},
        env_from=({"configMapRef": {"name": "map"}}, {"prefix": "S_", "secretRef": {"name": "secret"}}),
    )
    assert built["a"] == "mine"
    assert built["B"] == "mine-10.96.0.7-$(LATER)"
    assert built["S_word"] == "sesame"
    assert "not a name!" not in built


def test_without_service_links_only_the_api_is_told_of() -> None:
    pod = build_pod(container(), enableServiceLinks=False)
    built = build_environment(pod, pod.spec.containers[0], KNOWN, AROUND)
    assert built == {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(MISSING)", "$(MISSING)"),
        ("$A ${A} $(", "$A ${A} $("),
        ("$(A)$(A)", "11"),
        ("$(B)", "$(A)"),  # what a value holds is not looked at again
        ("100$", "100$"),
    ],
)
def test_names_in_parentheses_become_their_values(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "$(A)"}) == expected


@given(st.text(alphabet=st.characters(exclude_characters="$")))
def test_text_without_a_dollar_stays_as_it_is(text: str) -> None:
    assert expand(text, {"A": "1"}) == text


@given(st.text())
def test_what_is_escaped_comes_out_as_it_went_in(text: str) -> None:
    assert expand(text.replace("$", "$$"), {"A": "1"}) == text


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "default"),
        ("metadata.uid", UID),
        ("metadata.labels['app']", "web"),
        ("metadata.labels['other']", ""),
        ("metadata.annotations['note']", 'a "b"\nc'),
        ("metadata.labels", 'app="web"'),
        ("metadata.annotations", 'note="a \\"b\\"\\nc"'),
        ("spec.nodeName", "n"),
        ("spec.serviceAccountName", "robot"),
        ("status.hostIP", "10.0.0.1"),
        ("status.podIP", "10.244.0.2"),
        ("status.podIPs", "10.244.0.2"),
    ],
)
def test_fields_of_the_pod(path: str, expected: str) -> None:
    assert build({"name": "F", "valueFrom": {"fieldRef": {"fieldPath": path}}})["F"] == expected


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [
        ("limits.cpu", None, "2"),  # 1500m, rounded up
        ("limits.cpu", "1m", "1500"),
        ("requests.cpu", "1m", "250"),
        ("limits.memory", None, "134217728"),
        ("limits.memory", "1Mi", "128"),
        ("limits.memory", "1Gi", "1"),
        ("requests.memory", None, "0"),
        ("limits.ephemeral-storage", None, "0"),
    ],
)
def test_resources_in_units_of_the_divisor(resource: str, divisor: str | None, expected: str) -> None:
    reference = {"resource": resource} | ({"divisor": divisor} if divisor else {})
    resources = {"limits": {"cpu": "1500m", "memory": "128Mi"}, "requests": {"cpu": "250m"}}
    built = build({"name": "R", "valueFrom": {"resourceFieldRef": reference}}, resources=resources)
    assert built["R"] == expected


@pytest.mark.parametrize(("resource", "expected"), [("limits.cpu", "4"), ("limits.memory", "8589934592")])
def test_a_limit_that_is_not_set_is_all_that_the_node_has(resource: str, expected: str) -> None:
    assert build({"name": "R", "valueFrom": {"resourceFieldRef": {"resource": resource}}})["R"] == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"configMapKeyRef": {"name": "gone", "key": "a"}}, 'configmap "gone" not found'),
        ({"secretKeyRef": {"name": "gone", "key": "a"}}, 'secret "gone" not found'),
        ({"configMapKeyRef": {"name": "map", "key": "z"}}, "couldn't find key z in ConfigMap default/map"),
        ({"secretKeyRef": {"name": "secret", "key": "z"}}, "couldn't find key z in Secret default/secret"),
        ({"fieldRef": {"fieldPath": "spec.whatever"}}, "the downward API has no field spec.whatever"),
    ],
)
def test_what_a_reference_lacks_is_named(source: dict[str, Any], message: str) -> None:
    with pytest.raises(MissingReferenceError) as raised:
        build({"name": "X", "valueFrom": source})
    assert str(raised.value) == message


@pytest.mark.parametrize("field", ["configMapKeyRef", "secretKeyRef"])
@pytest.mark.parametrize("name", ["gone", "map", "secret"])
def test_an_optional_reference_that_leads_nowhere_is_left_out(field: str, name: str) -> None:
    assert "X" not in build({"name": "X", "valueFrom": {field: {"name": name, "key": "z", "optional": True}}})


def test_whole_objects_must_be_there_unless_optional() -> None:
    assert build(env_from=({"configMapRef": {"name": "gone", "optional": True}},)) == dict(AROUND.service_variables)
    with pytest.raises(MissingReferenceError, match='secret "gone" not found'):
        build(env_from=({"secretRef": {"name": "gone"}},))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ("entry", "x")),
        ({"command": ["run", "$(A)"]}, ("run", "1")),
        ({"args": ["more"]}, ("entry", "x", "more")),
        ({"command": ["run"], "args": ["$(A)", "$$(A)"]}, ("run", "1", "$(A)")),
    ],
)
def test_the_command_of_the_pod_replaces_that_of_the_image(fields: dict[str, Any], expected: tuple[str, ...]) -> None:
    it = build_pod(container(**fields)).spec.containers[0]
    assert build_command(it, ("entry", "x"), {"A": "1"}) == expected
