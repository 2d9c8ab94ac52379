"""``heliostat plan`` and ``render`` of a RayCronJob: what happens next, and the next five ticks."""

from typing import Any

from heliostat.api.settings import Settings
from heliostat.kube.documents import Document, read_documents
from heliostat.kube.jsontree import encode_json
from heliostat.plan.against import Planned, plan_document
from heliostat.plan.kind import Surroundings
from heliostat.plan.raycronjob.reasons import Hold
from heliostat.plan.render import render_documents
from plan.raycronjob.cron_worlds import START, cron_tree
from plan.worlds import NAMESPACE, Tree, with_gates

ON = with_gates(RayCronJob=True)


def document(**spec: Any) -> Document:
    tree = cron_tree(**spec)
    (found,) = read_documents(encode_json({**tree, "metadata": {"name": tree["metadata"]["name"]}}), "cron.yaml")
    return found


def planned(given: Document, settings: Settings, *objects: Tree, now: float = START) -> Planned:
    found = plan_document(given, Surroundings(objects=objects), NAMESPACE, settings, now)
    assert found is not None
    return found


def test_one_that_nobody_has_created_waits_for_its_first_tick_and_shows_five_in_its_own_zone() -> None:
    item = planned(document(schedule="30 2 * * *", timeZone="Europe/Berlin"), ON)
    assert item.plan is not None
    assert [wait.reason for wait in item.plan.waits] == [Hold.NEXT_TICK]
    assert item.notes[0] == "the next 5 scheduled times:"
    assert item.notes[1] == "  Mon 2024-01-01T01:30:00Z (2024-01-01T02:30:00+01:00 in Europe/Berlin)"
    assert len(item.notes) == 6


def test_what_is_due_of_a_live_one_is_planned() -> None:
    item = planned(document(), ON, cron_tree(), now=START + 330)
    assert item.plan is not None
    assert [action.ref.name for action in item.plan.actions() if hasattr(action, "ref")] == ["cron-28401125", "cron"]


def test_with_the_gate_off_nothing_happens_and_that_is_said() -> None:
    item = planned(document(), Settings(), cron_tree(), now=START + 330)
    assert item.plan is not None
    assert item.plan.is_empty
    assert "--feature-gates=RayCronJob=true" in item.notes[0]


def test_a_date_that_never_comes_is_said() -> None:
    assert planned(document(schedule="0 0 30 2 *"), ON).notes == (
        "it never runs: no day of the next five years fits the schedule",
    )


def test_render_tells_the_next_five_ticks() -> None:
    rendering = render_documents([document()], NAMESPACE, ON, START)
    assert rendering.objects == ()
    assert rendering.notes[-1].endswith("  Mon 2024-01-01T00:25:00Z")
