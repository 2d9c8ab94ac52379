"""The table of phases: what KubeRay's unit tests ask (rayjob.md §21), and what must hold for the table as a whole."""

from typing import Any

import pytest

from heliostat.plan.rayjob.answers import STATUSES
from heliostat.plan.rayjob.phase_inputs import If, PhaseInputs, Submitter, Voice
from heliostat.plan.rayjob.phases import BOUNDS, TABLE, TERMINAL, ContradictionError, Phase, Reason, State, find_row


def decide(phase: Phase, **facts: Any) -> tuple[Phase, Reason] | None:
    row = find_row(phase, PhaseInputs(**facts))
    return None if row is None else (row.to, row.reason)


RUNNING = {"voice": Voice.TELLS, "status": "RUNNING", "was_seen": True}
SILENT = {"voice": Voice.SILENT}
DONE, BROKEN, BUSY = Submitter.SUCCEEDED, Submitter.FAILED, Submitter.AT_WORK


@pytest.mark.parametrize(
    ("phase", "facts", "expected"),
    [
        (Phase.NEW, {}, (Phase.INITIALIZING, Reason.NONE)),
        (Phase.INITIALIZING, {}, None),
        (Phase.INITIALIZING, {"is_suspend_wanted": True}, (Phase.SUSPENDING, Reason.NONE)),
        (Phase.COMPLETE, {"is_suspend_wanted": True}, None),
        (Phase.INITIALIZING, {"is_reachable": True, "submitter": Submitter.MISSING}, None),
        (Phase.INITIALIZING, {"is_reachable": True, "submitter": BUSY}, (Phase.RUNNING, Reason.NONE)),
        (Phase.INITIALIZING, {"is_reachable": True, "is_interactive": True}, (Phase.WAITING, Reason.NONE)),
        (Phase.INITIALIZING, {"is_deadline_passed": True}, (Phase.FAILED, Reason.DEADLINE_EXCEEDED)),
        (Phase.INITIALIZING, {"is_pre_running_passed": True}, (Phase.FAILED, Reason.PRE_RUNNING_DEADLINE_EXCEEDED)),
        (Phase.WAITING, {"is_id_given": True}, (Phase.RUNNING, Reason.NONE)),
        (Phase.WAITING, {"is_pre_running_passed": True}, (Phase.FAILED, Reason.PRE_RUNNING_DEADLINE_EXCEEDED)),
        (Phase.WAITING, {"is_suspend_wanted": True}, (Phase.SUSPENDING, Reason.NONE)),
        (Phase.RUNNING, {}, None),
        (Phase.RUNNING, {**RUNNING, "is_deadline_passed": True}, (Phase.FAILED, Reason.DEADLINE_EXCEEDED)),
        (Phase.RUNNING, {**RUNNING, "status": "SUCCEEDED"}, (Phase.COMPLETE, Reason.NONE)),
        (Phase.RUNNING, {**RUNNING, "status": "STOPPED"}, (Phase.COMPLETE, Reason.NONE)),
        (Phase.RUNNING, {**RUNNING, "status": "FAILED"}, (Phase.FAILED, Reason.APP_FAILED)),
        (Phase.RUNNING, {**RUNNING, "status": "SUCCEEDED", "submitter": BUSY}, None),
        (Phase.RUNNING, {**RUNNING, "status": "FAILED", "submitter": BUSY}, None),
        (Phase.RUNNING, {**RUNNING, "status": "SUCCEEDED", "submitter": DONE}, (Phase.COMPLETE, Reason.NONE)),
        (Phase.RUNNING, {**RUNNING, "status": "SUCCEEDED", "submitter": BROKEN}, (Phase.COMPLETE, Reason.NONE)),
        (Phase.RUNNING, {**RUNNING, "status": "FAILED", "submitter": BROKEN}, (Phase.FAILED, Reason.APP_FAILED)),
        (
            Phase.RUNNING,
            {**RUNNING, "status": "SUCCEEDED", "submitter": BUSY, "is_grace_passed": True},
            (Phase.COMPLETE, Reason.GRACE_PERIOD_EXCEEDED),
        ),
        (
            Phase.RUNNING,
            {**RUNNING, "status": "FAILED", "submitter": BUSY, "is_grace_passed": True},
            (Phase.FAILED, Reason.GRACE_PERIOD_EXCEEDED),
        ),
        (Phase.RUNNING, {**RUNNING, "submitter": DONE}, None),
        (
            Phase.RUNNING,
            {**RUNNING, "submitter": DONE, "is_patience_over": True},
            (Phase.FAILED, Reason.GRACE_PERIOD_EXCEEDED),
        ),
        (Phase.RUNNING, {**RUNNING, "submitter": BROKEN, "is_patience_over": True}, None),
        (
            Phase.RUNNING,
            {"voice": Voice.DENIES, "submitter": BROKEN},
            (Phase.FAILED, Reason.SUBMISSION_FAILED),
        ),
        (Phase.RUNNING, {"voice": Voice.DENIES, "submitter": DONE}, (Phase.FAILED, Reason.APP_FAILED)),
        (
            Phase.RUNNING,
            {"voice": Voice.DENIES, "submitter": DONE, "is_newer_than_submitter": False},
            None,
        ),
        (Phase.RUNNING, {"voice": Voice.DENIES, "submitter": BUSY}, None),
        (Phase.RUNNING, {"voice": Voice.DENIES, "was_seen": True}, (Phase.FAILED, Reason.APP_FAILED)),
        (Phase.RUNNING, {**SILENT, "submitter": BROKEN}, None),
        (
            Phase.RUNNING,
            {**SILENT, "submitter": BROKEN, "is_patience_over": True, "is_silence_too_long": True},
            (Phase.FAILED, Reason.SUBMISSION_FAILED),
        ),
        (Phase.RUNNING, {**SILENT, "submitter": BROKEN, "is_patience_over": True}, None),
        (Phase.RUNNING, {**SILENT, "submitter": DONE, "is_patience_over": True}, None),
        (
            Phase.RUNNING,
            {**SILENT, "submitter": DONE, "is_unheard_too_long": True},
            (Phase.FAILED, Reason.GRACE_PERIOD_EXCEEDED),
        ),
        (Phase.RUNNING, {**SILENT, "submitter": DONE, "is_unheard_too_long": True, "was_seen": True}, None),
        (
            Phase.RUNNING,
            {**SILENT, "submitter": BROKEN, "is_silence_too_long": True, "was_seen": True},
            (Phase.FAILED, Reason.STATUS_CHECK_TIMEOUT_EXCEEDED),
        ),
        (Phase.RUNNING, {**SILENT, "is_silence_too_long": True}, (Phase.FAILED, Reason.STATUS_CHECK_TIMEOUT_EXCEEDED)),
        (Phase.RUNNING, {**RUNNING, "submitter": Submitter.LOST}, (Phase.FAILED, Reason.APP_FAILED)),
        (Phase.RUNNING, {**SILENT, "is_cluster_gone": True, "was_seen": True}, (Phase.FAILED, Reason.APP_FAILED)),
        (Phase.RUNNING, {**SILENT, "is_cluster_gone": True}, None),
        (Phase.RUNNING, {**SILENT, "is_ray_over": True, "was_seen": True}, (Phase.FAILED, Reason.APP_FAILED)),
        (Phase.RUNNING, {**RUNNING, "is_ray_over": True, "was_seen": True}, (Phase.FAILED, Reason.APP_FAILED)),
        (Phase.RUNNING, {"voice": Voice.DENIES, "is_ray_over": True}, None),
        (Phase.SUSPENDING, {}, None),
        (Phase.SUSPENDING, {"is_all_gone": True}, (Phase.SUSPENDED, Reason.NONE)),
        (Phase.RETRYING, {"is_all_gone": True}, (Phase.NEW, Reason.NONE)),
        (Phase.SUSPENDED, {"is_suspend_wanted": True}, None),
        (Phase.SUSPENDED, {}, (Phase.NEW, Reason.NONE)),
    ],
)
def test_where_a_job_goes(phase: Phase, facts: dict[str, Any], expected: tuple[Phase, Reason] | None) -> None:
    assert decide(phase, **facts) == expected


def test_nothing_leaves_a_terminal_phase() -> None:
    assert not [row for row in TABLE if row.at in TERMINAL]


def test_nothing_is_called_complete_without_rays_word() -> None:
    assert all(If.RAY_ENDED_WELL in row.when for row in TABLE if row.to is Phase.COMPLETE)


def test_every_failure_has_a_reason_and_nothing_else_but_an_end_has_one() -> None:
    assert all(row.reason is not Reason.NONE for row in TABLE if row.to is Phase.FAILED)
    assert all(row.reason is Reason.NONE for row in TABLE if row.to not in TERMINAL)


def test_every_phase_that_is_not_terminal_says_what_bounds_it_and_has_a_way_out() -> None:
    living = set(Phase) - TERMINAL
    assert set(BOUNDS) == living
    assert {row.at for row in TABLE} == living


def test_every_row_can_be_reached() -> None:
    """A row after one without conditions would never count."""
    for phase in Phase:
        rows = [row for row in TABLE if row.at is phase]
        assert all(row.when for row in rows[:-1])


@pytest.mark.parametrize(
    ("phase", "ray"),
    [
        (Phase.COMPLETE, "RUNNING"),
        (Phase.COMPLETE, "FAILED"),
        (Phase.COMPLETE, ""),
        (Phase.FAILED, "SUCCEEDED"),
        (Phase.FAILED, "STOPPED"),
        (Phase.SUSPENDED, "RUNNING"),
        (Phase.INITIALIZING, "PENDING"),
        (Phase.RETRYING, "SUCCEEDED"),
    ],
)
def test_a_pair_that_contradicts_itself_cannot_be_made(phase: Phase, ray: str) -> None:
    with pytest.raises(ContradictionError):
        State(phase, ray)


def test_while_a_job_runs_ray_may_say_anything() -> None:
    assert [State(Phase.RUNNING, ray).ray for ray in STATUSES]
