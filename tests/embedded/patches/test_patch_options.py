"""Which patch types a kind takes, and who a write belongs to."""

import pytest

from heliostat.embedded.refusals import RefusedError, invalid
from heliostat.embedded.server.patches.options import manager_causes, manager_of_request, patch_option_causes
from heliostat.embedded.server.patches.patch_types import (
    APPLY_PATCH,
    BUILT_IN_PATCHES,
    CUSTOM_PATCHES,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    read_patch_type,
)


@pytest.mark.parametrize("content_type", [MERGE_PATCH, f"{MERGE_PATCH}; charset=utf-8", f" {MERGE_PATCH};x"])
@pytest.mark.parametrize("accepted", [BUILT_IN_PATCHES, CUSTOM_PATCHES])
def test_parameters_of_the_content_type_do_not_count(content_type: str, accepted: tuple[str, ...]) -> None:
    assert read_patch_type(content_type, accepted) == MERGE_PATCH


def test_built_in_kinds_take_strategic_merge_patches() -> None:
    assert read_patch_type(STRATEGIC_MERGE_PATCH, BUILT_IN_PATCHES) == STRATEGIC_MERGE_PATCH


@pytest.mark.parametrize(
    "content_type", [STRATEGIC_MERGE_PATCH, "application/json", "", "Application/Merge-Patch+JSON"]
)
def test_custom_resources_say_what_they_take(content_type: str) -> None:
    with pytest.raises(RefusedError) as refused:
        read_patch_type(content_type, CUSTOM_PATCHES)
    assert (refused.value.code, refused.value.reason) == (415, "UnsupportedMediaType")
    assert refused.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY_PATCH}"
    )


def test_built_in_kinds_do_not_say_what_they_take() -> None:
    with pytest.raises(RefusedError) as refused:
        read_patch_type("application/json", BUILT_IN_PATCHES)
    assert (refused.value.code, refused.value.message) == (415, "415: Unsupported Media Type")


@pytest.mark.parametrize(
    ("patch_type", "manager", "force", "message"),
    [
        (APPLY_PATCH, "", None, "fieldManager: Required value: is required for apply patch"),
        (MERGE_PATCH, "m", False, "force: Forbidden: may not be specified for non-apply patch"),
        (APPLY_PATCH, "x" * 129, True, "fieldManager: Too long: may not be more than 128 bytes"),
        (APPLY_PATCH, "é" * 65, True, "fieldManager: Too long: may not be more than 128 bytes"),
        (
            MERGE_PATCH,
            "é\n",
            None,
            'fieldManager: Invalid value: "é\\n": invalid character U+000A (at position 2)',
        ),
    ],
)
def test_options_that_are_refused(patch_type: str, manager: str, force: bool | None, message: str) -> None:
    causes = patch_option_causes(patch_type, manager=manager, force=force)
    refusal = invalid("PatchOptions", "meta.k8s.io", "", causes)
    assert refusal.message == f'PatchOptions.meta.k8s.io "" is invalid: {message}'
    assert (refusal.code, refusal.details) == (422, {"group": "meta.k8s.io", "kind": "PatchOptions"})


@pytest.mark.parametrize(
    ("patch_type", "manager", "force"),
    [(APPLY_PATCH, "x" * 128, True), (APPLY_PATCH, "m", None), (MERGE_PATCH, "", None), (JSON_PATCH, "a b 😀", None)],
)
def test_options_that_are_fine(patch_type: str, manager: str, force: bool | None) -> None:
    assert patch_option_causes(patch_type, manager=manager, force=force) == []


def test_every_unprintable_character_is_listed() -> None:
    assert [cause.message.rpartition("(")[2] for cause in manager_causes("\0a\x7f")] == [
        "at position 0)",
        "at position 2)",
    ]


@pytest.mark.parametrize(
    ("manager", "user_agent", "result"),
    [
        ("m", "kubectl/v1", "m"),
        ("", "kubectl/v1.34 (linux)", "kubectl"),
        ("", "Go-http-client", "Go-http-client"),
        ("", "a\tb\x00/1", "ab"),
        ("", "x" * 200, "x" * 128),
        ("", "é" * 100, "é" * 64),
        ("", "", ""),
    ],
)
def test_whom_a_write_belongs_to(manager: str, user_agent: str, result: str) -> None:
    assert manager_of_request(manager, user_agent) == result
