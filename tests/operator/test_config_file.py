"""The file behind --config: operator.md §2."""

from typing import Any

import pytest

from heliostat.operator.config_file import Configuration, decode_configuration, list_warnings
from heliostat.operator.usage_error import UsageError

HEADER = {"apiVersion": "config.ray.io/v1alpha1", "kind": "Configuration"}


def test_an_empty_file_has_the_defaults() -> None:
    assert decode_configuration({}) == decode_configuration(HEADER) == Configuration()


def test_a_null_is_as_good_as_nothing() -> None:
    assert decode_configuration({"qps": None, "defaultPodLabels": None, "probeAddr": None}) == Configuration()


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"enableLeaderElection": "yes"}, "the configuration's enableLeaderElection must be true or false, got a text"),
        ({"reconcileConcurrency": 1.5}, "reconcileConcurrency must be a whole number, got a number"),
        ({"reconcileConcurrency": "4"}, "reconcileConcurrency must be a whole number, got a text"),
        ({"metricsAddr": 8080}, "metricsAddr must be a text, got a whole number"),
        ({"qps": "fast"}, "qps must be a number, got a text"),
        ({"headSidecarContainers": {}}, "headSidecarContainers must be a list, got a map"),
        ({"headSidecarContainers": ["a"]}, r"headSidecarContainers\[0\] must be a map, got a text"),
        ({"defaultPodLabels": {"a": 1}}, r"defaultPodLabels.* must be a text, got a whole number"),
        ({"headSidecarContainers": [{"name": "a", "image": 7}]}, r"headSidecarContainers\[0\].image.* a string"),
        ({"workerSidecarContainers": [{"image": "a"}]}, r"workerSidecarContainers\[0\].name: .*required"),
        ({"defaultContainerEnvs": [{"name": "A", "value": 5}]}, r"defaultContainerEnvs\[0\].value.* a string"),
        ({"kind": "Deployment"}, "is a Deployment of config.ray.io/v1alpha1; it must be a Configuration"),
        ({"apiVersion": "config.ray.io/v2"}, "is a Configuration of config.ray.io/v2; it must be"),
    ],
)
def test_a_wrong_type_is_named_with_what_the_field_takes(tree: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        decode_configuration(tree)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"watchNamespaces": "a"}, "watchNamespaces is not known and does not count; did you mean watchNamespace?"),
        ({"somethingElse": 1}, "somethingElse is not known and does not count"),
        ({"headSidecarContainers": [{"name": "a", "imag": "b"}]}, r"headSidecarContainers[0].imag: "),
        ({"logFileEncoder": "json"}, "use the flag --log-file-encoder"),
        ({"deleteRayJobAfterJobFinishes": True}, "environment variable DELETE_RAYJOB_CR_AFTER_JOB_FINISHES"),
    ],
)
def test_what_does_not_count_is_a_warning(tree: dict[str, Any], words: str) -> None:
    decode_configuration({**HEADER, **tree})
    (warning,) = list_warnings({**HEADER, **tree})
    assert words in warning


def test_what_counts_is_no_warning() -> None:
    assert list_warnings({**HEADER, "metadata": {"name": "a"}, "qps": 1, "logFile": "/a"}) == []
