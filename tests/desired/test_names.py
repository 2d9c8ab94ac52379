import pytest

from heliostat.desired.names import check_label, check_name, check_route_name, pod_name_prefix


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("short", "short"),
        ("9lives", "rlives"),
        ("-dash", "rdash"),
        ("a" * 50, "a" * 50),
        ("b" + "a" * 50, "a" * 50),
        (
            "72fbcc7e-a661-4b18e-ca41-e903-fc3ae634b18e-lazer090scholar-director-s",
            "rca41-e903-fc3ae634b18e-lazer090scholar-director-s",
        ),
        (
            "--------566666--------444433-----------222222----------4444",
            "r6666--------444433-----------222222----------4444",
        ),
    ],
)
def test_check_name_keeps_the_last_50_characters_and_starts_with_a_letter(text: str, expected: str) -> None:
    assert check_name(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1abc", "1abc"), ("-abc", "rabc"), ("x" + "y" * 63, "y" * 63), ("x-" + "y" * 62, "r" + "y" * 62)],
)
def test_check_label_keeps_the_last_63_characters_and_a_leading_digit(text: str, expected: str) -> None:
    assert check_label(text) == expected


@pytest.mark.parametrize(
    ("text", "namespace", "expected"),
    [
        ("cv-traffic-training-202402090958", "development-namespace", "cv-traffic-training-2024020909"),
        ("2-step-cv-training-network-revisited", "development-namespace", "r-step-cv-training-network-rev"),
        ("short", "ns", "short"),
    ],
)
def test_route_names_leave_room_for_the_namespace(text: str, namespace: str, expected: str) -> None:
    assert check_route_name(text, namespace) == expected


def test_pod_names_keep_the_first_50_characters_in_lower_case() -> None:
    prefix = "ray-cluster-0000000000000000000000011111111122222233333333333333-group-name"
    assert pod_name_prefix(prefix, "worker") == "ray-cluster-00000000000000000000000111111111222222-worker-"
    assert pod_name_prefix("Demo-GPU", "worker") == "demo-gpu-worker-"
